"""Settings of a folder of written games: ``settings.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field, JsonValue, StringConstraints, ValidationError

from selfplay.checkpoint.documents import MAX_JSON_BYTES, decode_json, encode_json, parse
from selfplay.checkpoint.store import write_file
from selfplay.config.base import Group, Positive
from selfplay.dialogue.files.states import SOURCE_SUFFIX
from selfplay.dialogue.settings import (
    TINY,
    DialogueConfig,
    DialogueGameConfig,
    DialogueName,
    DialogueRunConfig,
    ModelConfig,
    SamplingConfig,
    ServerConfig,
    StartConfig,
    refuse_single_games,
)
from selfplay.errors import ConfigError, CorruptError
from selfplay.files import read_file

if TYPE_CHECKING:
    from selfplay.dialogue.contract import DialogueEntry

SETTINGS: Final = "settings.json"
EXAMPLE_MODEL: Final = "Qwen/Qwen2.5-7B-Instruct"  # for a machine with GPUs


class SamplingLine(Group):
    """Sampling parameters of the replies."""

    temperature: Annotated[float, Field(gt=0, le=10)]
    top_p: Annotated[float, Field(gt=0, le=1)]
    max_new_tokens: Annotated[int, Field(ge=2, le=32768)]


class FileSettings(Group):
    """Settings of the games of one file."""

    schema_version: Literal[1] = 1
    exp_name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")]
    model: str  # `tiny`, a name, or a folder
    start: StartConfig | None  # of `tiny`; None: another model
    game: DialogueName
    rules: dict[str, JsonValue]
    versions: dict[str, int]  # of the game: others draw other states
    sampling: SamplingLine
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    iteration: Annotated[int, Field(ge=0, le=10**6)]  # 0: the only one
    games: Annotated[int, Field(ge=2, le=10**7)]
    games_per_state: Positive
    baseline: Literal["group", "role-ema"]
    bf16: bool = False  # forward passes of the model that played
    server: ServerConfig | None = None  # that wrote the replies; None: the model itself

    @property
    def data_source(self) -> str:
        return f"{self.game}{SOURCE_SUFFIX}"

    @property
    def config(self) -> DialogueConfig:
        """The configuration that opens the model, without limits of these games, and without a server."""
        size = self.rules.get("size")
        return DialogueConfig(
            game=DialogueGameConfig(type=self.game, size=size if isinstance(size, int) else None),
            model=ModelConfig(name=self.model, bf16=self.bf16),
            sampling=SamplingConfig(**self.sampling.model_dump()),
            start=self.start or StartConfig(),
            run=DialogueRunConfig(seed=self.seed),
        )


def make_settings(values: Mapping[str, Any]) -> FileSettings:
    """Settings of new games.

    Args:
        values: of the user: fields of ``FileSettings``, with ``temperature``, ``top_p`` and ``max_new_tokens`` instead
            of ``sampling``, ``game_size`` and ``max_length`` instead of the rules, ``start_tokens`` instead of
            ``start``, and the name of a program as ``server``, with ``server_url`` and ``server_args``.

    Raises:
        ConfigError: an invalid value, with its flag; or single games per state without a baseline across states.
    """
    from selfplay.dialogue.players import sampling_of  # loads torch
    from selfplay.dialogue.rules import game_of, is_embedded

    given = dict(values)
    served = {"url": given.pop("server_url", None), "program": given.pop("server", None)}
    served["arguments"] = given.pop("server_args", None)
    served = {name: value for name, value in served.items() if value is not None}
    model, tokens = _absolute(str(given["model"])), given.pop("start_tokens")
    try:
        config = DialogueConfig(
            game=DialogueGameConfig(type=given.pop("game"), size=given.pop("game_size")),
            model=ModelConfig(name=model, bf16=given.get("bf16", False)),
            server=ServerConfig(**served),
            sampling=SamplingConfig(**{n: given.pop(n) for n in ("temperature", "top_p", "max_new_tokens")}),
            start=StartConfig() if tokens is None else StartConfig(tokens=tokens),
            run=DialogueRunConfig(seed=given["seed"]),
        )
        entry, rules = game_of(config)
        sampling = sampling_of(config)
        rules = _limited(entry, rules, is_embedded(config), given.pop("max_length"))
        settings = FileSettings(
            **{
                **given,
                "model": model,
                "start": config.start if config.embedded else None,
                "game": config.game.type,
                "rules": asdict(rules),
                "versions": dict(entry.versions),
                "sampling": SamplingLine(**asdict(sampling)),
                "server": config.server if config.server.remote else None,
            }
        )
        refuse_single_games(settings.games_per_state, settings.baseline)
        return settings
    except ValidationError as error:
        raise user_error(error) from error


def user_error(error: ValidationError) -> ConfigError:
    """The error message for an invalid value: the flag, the value, and what is valid."""
    problem = error.errors(include_url=False)[0]
    if not problem["loc"]:  # settings that exclude each other
        return ConfigError(str(problem["ctx"]["error"]))
    name = str(problem["loc"][-1])
    message = problem["msg"][0].lower() + problem["msg"][1:]
    return ConfigError(f"--{_FLAGS.get(name, name).replace('_', '-')} {problem['input']}: {message}")


_FLAGS: Final = {
    "type": "game", "size": "game_size", "tokens": "start_tokens", "games": "num_games", "program": "server"
}  # fmt: skip


def announce(settings: FileSettings, max_length: int) -> str:
    turns = settings.rules.get("max_turns", max_length)
    less = "" if turns == max_length else f". Games end after {turns} turns, the embedded model's limit"
    about = f"{settings.model}; the default is {TINY}, that of the verl scripts {EXAMPLE_MODEL}"
    if settings.model == TINY:
        about = f"{TINY}, the embedded default; on a machine with GPUs, MODEL_NAME={EXAMPLE_MODEL}"
    return f"Model: {about}{less}"


def _absolute(model: str) -> str:
    """The absolute path of a folder, so that settings can be read from anywhere."""
    path = Path(model)
    return str(path.resolve()) if model != TINY and path.is_dir() else model


def _limited(entry: DialogueEntry, rules: Any, embedded: bool, max_length: int) -> Any:  # noqa: ANN401
    """The rules with a limit of turns. With an embedded model, at most the limit that it was trained for."""
    if "max_turns" not in {field.name for field in fields(entry.rules)}:
        return rules  # the game has no limit
    if max_length < 2:
        raise ConfigError(f"--max-length {max_length}: must be at least 2, a turn of each player")
    return replace(rules, max_turns=min(max_length, rules.max_turns) if embedded else max_length)


def write_settings(folder: Path, settings: FileSettings) -> None:
    write_file(folder / SETTINGS, encode_json(settings.model_dump(mode="json"), SETTINGS))


def read_settings(folder: Path) -> FileSettings:
    """The settings of the games of a folder; CorruptError if the file is missing or damaged."""
    place = folder / SETTINGS
    return parse(FileSettings, decode_json(read_file(place, MAX_JSON_BYTES), str(place)), str(place), CorruptError)


def refuse_other(folder: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse to continue a folder with other settings; names the first difference."""
    for name, value in wanted.items():
        if found.get(name) != value:
            raise ConfigError(
                f"{folder} was made with {name} {found.get(name)}, not {value}; what is finished is kept: remove the "
                "folder, or choose another with DATA_DIR"
            )
