"""Opens the models, servers and writers of a configuration."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint.run_dir import CHECKPOINTS
from selfplay.dialogue.embedded import embedded_model
from selfplay.dialogue.following import ServingFolder, UrlServer, rank_of
from selfplay.dialogue.language.endpoint import Endpoint, find_endpoint
from selfplay.dialogue.language.loading import Lora, find, load_model
from selfplay.dialogue.language.remote import RemoteWriter, RequestLimits
from selfplay.dialogue.language.routes import Weights
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.models import is_model, read_model
from selfplay.dialogue.programs import find_program, refuse_reserved
from selfplay.dialogue.recipe import Recipe, spec_of
from selfplay.dialogue.rules import game_of, is_embedded
from selfplay.dialogue.serving import ReplyServer
from selfplay.errors import ConfigError
from selfplay.learner.sampling import Sampling

if TYPE_CHECKING:
    from selfplay.dialogue.language.chat import Chat
    from selfplay.dialogue.language.model import LanguageModel
    from selfplay.dialogue.settings import DialogueConfig

EMBEDDED_REPLY: Final = 24  # default tokens per reply with the embedded model
REPLY: Final = 512  # with other models
SERVED: Final = "serving"  # in the folder of the run: weights for a server
MEMORY_FLAGS: Final = {"sglang": "--mem-fraction-static", "vllm": "--gpu-memory-utilization"}
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
    *,
    plays: bool | None = None,
) -> tuple[LanguageModel, str]:
    """The initial model and its name or folder; an embedded model is made if necessary. ``plays`` as of ``reopen``.

    Blocks.

    Raises:
        ConfigError: the model does not exist, is not supported, or does not fit the game.
        CheckpointError: its folder is damaged.
    """
    if config.embedded:
        entry, rules = game_of(config)
        spec = spec_of(entry)
        recipe = Recipe(config.game.type, rules, config.start, config.run.seed, spec, EMBEDDED_REPLY)
        _, folder = embedded_model(entry, recipe, CHECKPOINTS, threads, notice, show_header)
        where = str(folder)
    else:
        where = config.model.name
        find(where)  # fails early
    model = reopen(config, where, device, fresh=True, plays=plays)
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


def reopen(
    config: DialogueConfig, where: str, device: str, *, fresh: bool = False, plays: bool | None = None
) -> LanguageModel:
    """Load a model of a run: the initial one, ``fresh``, or a generation, which has its adapter.

    ``plays`` as of ``LanguageModel``; by default whether no server writes the replies, or generations are rated or met.

    Raises:
        ConfigError: the model does not exist or is not supported.
        CheckpointError: its folder is damaged.
    """
    path = Path(where)
    if path.is_dir() and is_model(path):
        read_model(path)
    model = config.model
    lora = Lora(model.lora_rank, model.lora_alpha, model.lora_targets) if fresh and model.lora_rank else None
    if plays is None:
        plays = not config.server.remote or config.league.track_elo or config.league.meets_generations
    return load_model(where, device, rows=model.rows, lora=lora, bf16=model.bf16, plays=plays)


def server_of(
    config: DialogueConfig, model: LanguageModel, folder: Path, run: Path, *, follows: bool = True
) -> ReplyServer | None:
    """The server to start, if any: with the model's folder, or with the base of its adapter.

    ``follows``: it will get other weights.

    Raises:
        ConfigError: its program is not installed, or its arguments or the rank of the adapter are invalid.
        CheckpointError: the weights cannot be written.
    """
    server = config.server
    if server.program is None:
        return None
    try:
        arguments = shlex.split(server.arguments)
    except ValueError as error:
        raise ConfigError(f"--server-args {server.arguments}: {error}") from error
    refuse_reserved(arguments)
    if server.memory_share is not None:
        arguments += [MEMORY_FLAGS[server.program], f"{server.memory_share:g}"]
    program = find_program(server.program)
    routes, serving, rank = program.wire.routes, ServingFolder((run / SERVED).absolute()), rank_of(model)
    if rank:
        folder, arguments = Path(model.module.name_or_path), [*routes.flags(rank), *arguments]
    weights = serving.write(model) if rank or (follows and routes.fixed) else Weights(folder)
    return ReplyServer(
        program, folder, weights, serving, run / SERVER_LOG, server.start_timeout, arguments,
        routes.variables(adapter=rank > 0) if rank or follows else {},
    )  # fmt: skip


def url_server_of(config: DialogueConfig, model: LanguageModel, endpoint: Endpoint, run: Path) -> UrlServer | None:
    """The server of a URL, if it is to get the weights of the run."""
    server = config.server
    if server.url is None or server.frozen:
        return None
    folder = ServingFolder((run / SERVED).absolute())
    return UrlServer(endpoint, folder, rank_of(model), server.start_timeout, server.start_timeout)


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
