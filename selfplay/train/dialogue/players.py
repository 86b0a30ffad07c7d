"""Who plays: the model that a configuration names, and how its replies are sampled."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint.models import is_model, read_model
from selfplay.checkpoint.run_dir import CHECKPOINTS
from selfplay.config.dialogue_rules import game_of, is_embedded
from selfplay.errors import ConfigError
from selfplay.policy.language.endpoint import Endpoint, find_endpoint
from selfplay.policy.language.loading import Lora, find, load_model
from selfplay.policy.language.remote import RemoteWriter, RequestLimits
from selfplay.policy.language.sampling import Sampling
from selfplay.policy.language.writer import LocalWriter
from selfplay.runner.serving import ReplyServer, find_program, refuse_reserved
from selfplay.train.dialogue.embedded import Recipe, embedded_model

if TYPE_CHECKING:
    from envs.dialogue.contract import DialogueEntry
    from selfplay.config.dialogue import DialogueConfig
    from selfplay.policy.language.chat import Chat
    from selfplay.policy.language.model import LanguageModel

EMBEDDED_REPLY: Final = 24  # tokens of a reply of the embedded model
REPLY: Final = 512  # of others
SERVER_LOG: Final = "server.log"  # in a run's folder: what a server says that was started for it


def sampling_of(config: DialogueConfig) -> Sampling:
    """How replies are sampled."""
    usual = EMBEDDED_REPLY if is_embedded(config) else REPLY
    return Sampling(config.sampling.temperature, config.sampling.top_p, config.sampling.max_new_tokens or usual)


def open_model(
    config: DialogueConfig, device: str, threads: int, tell: Callable[[str], object], root: Path = CHECKPOINTS
) -> tuple[LanguageModel, str]:
    """The model to begin with, and its name or folder; the embedded one is made where it is not there. Blocks.

    Raises:
        ConfigError: there is no such model, or not one that can play.
        CheckpointError: its folder is damaged.
    """
    if config.embedded:
        entry, rules = game_of(config)
        recipe = Recipe(config.game.type, rules, config.start, config.run.seed, max_new_tokens=EMBEDDED_REPLY)
        _, folder = embedded_model(entry, recipe, root, threads, tell)
        where = str(folder)
    else:
        where = config.model.name
        find(where)  # a mistake costs nothing yet
    model = reopen(config, where, device, fresh=True)
    _try_words(*game_of(config), model)
    return model, where


def _try_words(entry: DialogueEntry, rules: Any, model: LanguageModel) -> None:  # noqa: ANN401
    """Refuse a model without tokens for the words of the game."""
    game = entry.start(rules, entry.states(rules, [0])[0])
    model.chat.refuse_unknown(model.chat.open(game.system(game.mover), game.observe(game.mover)))


def reopen(config: DialogueConfig, where: str, device: str, *, fresh: bool = False) -> LanguageModel:
    """A model of a run: what it begins with, ``fresh``, or one of its generations, which have their adapters.

    Raises:
        ConfigError: there is no such model, or not one that can play.
        CheckpointError: its folder is damaged.
    """
    path = Path(where)
    if path.is_dir() and is_model(path):
        read_model(path)
    model = config.model
    lora = Lora(model.lora_rank, model.lora_alpha, model.lora_targets) if fresh and model.lora_rank else None
    return load_model(where, device, rows=model.rows, lora=lora, bf16=model.bf16)


def server_of(config: DialogueConfig, folder: Path, run: Path) -> ReplyServer | None:
    """The server that is to be started on a model folder, to be run as a child; None where none is.

    Raises:
        ConfigError: its program is not installed, or its arguments are no command line.
    """
    server = config.server
    if server.program is None:
        return None
    try:
        arguments = shlex.split(server.arguments)
    except ValueError as error:
        raise ConfigError(f"--server-args {server.arguments}: {error}") from error
    refuse_reserved(arguments)
    program = find_program(server.program)
    return ReplyServer(program, folder, run / SERVER_LOG, server.start_timeout, arguments)


def endpoint_of(config: DialogueConfig, chat: Chat, server: ReplyServer | None = None) -> Endpoint | None:
    """Where replies come from; None: they are written here. Blocks where ``--server-url`` is to be asked what it is.

    Raises:
        ConfigError: nobody answers there whom we know how to ask.
    """
    if server is not None:
        return server.endpoint
    return None if config.server.url is None else find_endpoint(config.server.url, chat, config.server.timeout)


def writer_of(config: DialogueConfig, model: LanguageModel, endpoint: Endpoint | None) -> LocalWriter | RemoteWriter:
    """Who writes replies, for one thread: the model itself, or a server."""
    sampling = sampling_of(config)
    if endpoint is None:
        return LocalWriter(model, sampling)
    server = config.server
    limits = RequestLimits(server.in_flight, server.timeout, server.retries, server.failures, server.start_timeout)
    return RemoteWriter(model.chat, model.context, sampling, endpoint, limits)
