"""Opens the models, servers and writers of a configuration."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint.run_dir import CHECKPOINTS
from selfplay.checkpoint.store import fill_folder
from selfplay.dialogue.embedded import Recipe, embedded_model
from selfplay.dialogue.language.endpoint import Endpoint, find_endpoint
from selfplay.dialogue.language.loading import Lora, find, load_model
from selfplay.dialogue.language.remote import RemoteWriter, RequestLimits
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.models import is_model, read_model
from selfplay.dialogue.rules import game_of, is_embedded
from selfplay.dialogue.serving import ReplyServer, find_program, refuse_reserved
from selfplay.errors import ConfigError
from selfplay.learner.sampling import Sampling

if TYPE_CHECKING:
    from selfplay.dialogue.language.chat import Chat
    from selfplay.dialogue.language.model import LanguageModel
    from selfplay.dialogue.settings import DialogueConfig

EMBEDDED_REPLY: Final = 24  # default tokens per reply with the embedded model
REPLY: Final = 512  # with other models
SERVED: Final = "serving"  # in the folder of the run: the current weights, for a server
SERVER_LOG: Final = "server.log"  # output of a server, in the folder of the run


def sampling_of(config: DialogueConfig) -> Sampling:
    default = EMBEDDED_REPLY if is_embedded(config) else REPLY
    return Sampling(config.sampling.temperature, config.sampling.top_p, config.sampling.max_new_tokens or default)


def open_model(
    config: DialogueConfig,
    device: str,
    threads: int,
    notice: Callable[[str], object],
    show_header: Callable[[Sequence[str]], object] = lambda _: None,
) -> tuple[LanguageModel, str]:
    """The initial model and its name or folder; an embedded model is made if necessary. Blocks.

    Raises:
        ConfigError: the model does not exist, is not supported, or does not fit the game.
        CheckpointError: its folder is damaged.
    """
    if config.embedded:
        entry, rules = game_of(config)
        recipe = Recipe(config.game.type, rules, config.start, config.run.seed, max_new_tokens=EMBEDDED_REPLY)
        _, folder = embedded_model(entry, recipe, CHECKPOINTS, threads, notice, show_header)
        where = str(folder)
    else:
        where = config.model.name
        find(where)  # fails early
    model = reopen(config, where, device, fresh=True)
    check_opening(config, model, model.context)
    return model, where


def check_opening(config: DialogueConfig, model: LanguageModel, context: int) -> None:
    """Refuse a game whose words the tokenizer lacks, or whose first prompt and a reply exceed ``context`` tokens."""
    entry, rules = game_of(config)
    game = entry.start(rules, entry.states(rules, [0])[0])
    prompt = model.chat.open(game.system(game.mover), game.observe(game.mover))
    model.chat.refuse_unknown(prompt)
    reply = sampling_of(config).max_new_tokens
    if len(prompt) + reply > context:
        raise ConfigError(
            f"model {config.model.name}: needs {len(prompt)} + {reply} tokens for the first prompt and a reply, sees "
            f"{context}; lower --max-new-tokens or --game-size, or use a model with a longer context"
        )


def reopen(config: DialogueConfig, where: str, device: str, *, fresh: bool = False) -> LanguageModel:
    """Load a model of a run: the initial one, ``fresh``, or a generation, which has its adapter.

    Raises:
        ConfigError: the model does not exist or is not supported.
        CheckpointError: its folder is damaged.
    """
    path = Path(where)
    if path.is_dir() and is_model(path):
        read_model(path)
    model = config.model
    lora = Lora(model.lora_rank, model.lora_alpha, model.lora_targets) if fresh and model.lora_rank else None
    return load_model(where, device, rows=model.rows, lora=lora, bf16=model.bf16)


def server_of(config: DialogueConfig, model: LanguageModel, folder: Path, run: Path) -> ReplyServer | None:
    """The server to start, if any: with the model's folder, or with an adapter merged into a whole model.

    Raises:
        ConfigError: its program is not installed, or its arguments are invalid.
        CheckpointError: the whole model cannot be written.
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
    if model.adapter is not None:
        folder = fill_folder(run / SERVED, model.save_merged, replace=True)
    return ReplyServer(program, folder, run / SERVER_LOG, server.start_timeout, arguments)


def endpoint_of(config: DialogueConfig, chat: Chat, server: ReplyServer | None = None) -> Endpoint | None:
    """The server that writes replies; None: the model itself. Blocks while the server of a URL is detected.

    ConfigError without a server at the URL, or for an unknown format.
    """
    if server is not None:
        return server.endpoint
    return None if config.server.url is None else find_endpoint(config.server.url, chat, config.server.timeout)


def writer_of(
    config: DialogueConfig, model: LanguageModel, endpoint: Endpoint | None, ending: Callable[[], bool] = lambda: False
) -> LocalWriter | RemoteWriter:
    sampling = sampling_of(config)
    if endpoint is None:
        return LocalWriter(model, sampling)
    return RemoteWriter(model.chat, model.context, sampling, endpoint, limits_of(config), ending)


def limits_of(config: DialogueConfig) -> RequestLimits:
    """Limits of requests to the servers of a run."""
    server = config.server
    return RequestLimits(server.in_flight, server.timeout, server.retries, server.failures, server.start_timeout)
