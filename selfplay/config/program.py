"""Values by dotted name to one validated configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from pydantic import ValidationError

from selfplay.config.base import PARTIAL, Group
from selfplay.config.options import Option, flag_of, paths, shown, value_of
from selfplay.config.words import check_name, setting_meant, unknown_name
from selfplay.errors import ConfigError
from selfplay.games.files import MAX_TEXT_BYTES, parse_toml, read_plain

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from selfplay.config.presets import Presets

Settings = TypeVar("Settings", bound=Group)

SENTENCES: Final = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number is needed"),
    **dict.fromkeys(("int_parsing_size", "finite_number"), "a finite number is needed"),
    **dict.fromkeys(("float_parsing", "float_type"), "a number is needed"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false is needed"),
    "greater_than_equal": "at least {ge} is needed",
    "greater_than": "more than {gt} is needed",
    "less_than_equal": "at most {le} is possible",
    "less_than": "less than {lt} is needed",
    "too_long": "at most {max_length} values are possible",
    "too_short": "at least {min_length} values are needed",
    "tuple_type": "values with commas between them are needed",
    "string_type": "a text is needed",
}
"""Error messages by pydantic's error type; the names in braces are keys of the error's context."""

NO_PRESET: Final = "none"
"""Name of the plain defaults for ``--preset``."""


@dataclass(frozen=True, slots=True)
class Invocation(Generic[Settings]):
    """What the user asked of a trainer."""

    config: Settings  # of a new run; of a resumed one only what ``explicit`` names
    resume: bool = False  # continue the run of ``run.checkpoint``, or the newest
    preset: str | None = None  # its name, for the header
    explicit: Mapping[str, Any] = field(default_factory=dict)
    """Values that the user gave, by dotted name; with ``resume`` those of the preset, too."""
    notice: str | None = None
    """Of a new run. With a preset, which may record games first, it is the first line, else below the header."""


@dataclass(frozen=True, slots=True)
class Program(Generic[Settings]):
    """The settings of a training, and the checks of what a user gives for them."""

    settings: type[Settings]
    options: tuple[Option, ...]
    presets: Presets
    example: tuple[str, str]  # a setting, group.name, and a value of it, for help and messages
    imply: Callable[[dict[str, Any]], None]  # adds what follows from what the user gave, by dotted name
    check: Callable[[Settings], None]  # ConfigError for names that only other packages know
    elsewhere: Callable[[str], str | None] = lambda _: None  # whose a setting is that is not one of these


def invoke(
    program: Program[Settings], explicit: dict[str, Any], preset: str | None = None, resume: bool = False
) -> Invocation[Settings]:
    """The configuration with the values that the user gave, by dotted name; they are added to.

    Raises:
        ConfigError: with one line that names the flag, the value and what is valid.
    """
    chosen = preset_values(program, preset)
    program.imply(explicit)
    config = _validate(program, chosen | explicit, PARTIAL if resume else None)
    program.check(config)
    paths = explicit
    if resume:  # a preset is no default here: where it differs from the run, the user has to know
        paths = explicit | chosen
    shown_preset = None if preset == NO_PRESET else preset
    return Invocation(config, resume, shown_preset, {path: value_of(config, path) for path in paths})


def preset_values(program: Program[Settings], name: str | None) -> dict[str, Any]:
    """The values of a preset, by dotted name; ConfigError if there is none of that name."""
    if name in (None, NO_PRESET):
        return {}
    check_name("--preset", name, [*program.presets, NO_PRESET])
    groups = program.presets[name].items()
    return {f"{group}.{setting}": value for group, part in groups for setting, value in part.items()}


def read_toml(path: Path, name: str) -> dict[str, Any]:
    """The document of a TOML file that a user named; ConfigError names the file as ``name``."""
    try:
        return parse_toml(read_plain(path, MAX_TEXT_BYTES, follow=True))
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(f"{name}: not TOML: {error}") from error


def flatten(program: Program[Any], document: Mapping[str, object], where: str) -> dict[str, Any]:
    """Settings by group and name as settings by dotted name; ConfigError names ``where`` an unknown one stands."""
    flat: dict[str, Any] = {}
    for group, part in document.items():
        if not isinstance(part, Mapping):
            example, flags = program.example[0].partition(".")[0], {one.flag: one.path for one in program.options}
            near = setting_meant(group, paths(program.settings), flags)
            raise ConfigError(f"{where}: {group!r} stands outside a group such as [{example}]{near}")
        flat |= {known(program, f"{group}.{name}", where): value for name, value in part.items()}
    return flat


def known(program: Program[Any], path: str, where: str) -> str:
    """The dotted name ``path``; ConfigError if there is no such setting, which names ``where`` it stands."""
    valid = paths(program.settings)
    if path not in valid:
        if whose := program.elsewhere(path):
            raise ConfigError(f"--set {path} {whose}")
        flags = {option.flag: option.path for option in program.options}
        raise ConfigError(f"{where}: unknown setting {path!r}{setting_meant(path, valid, flags)}")
    return path


def _validate(program: Program[Settings], flat: Mapping[str, Any], context: str | None = None) -> Settings:
    values: dict[str, dict[str, Any]] = {}
    for path, value in flat.items():
        group, _, name = path.partition(".")
        values.setdefault(group, {})[name] = value
    try:
        return program.settings.model_validate(values, context=context)
    except ValidationError as error:
        raise ConfigError(_plain(program, error.errors()[0])) from error


def _plain(program: Program[Settings], problem: ErrorDetails) -> str:
    """Error message for the user of a pydantic error, with the flag in place of the field."""
    place, bounds = problem["loc"], problem.get("ctx", {})
    message = problem["msg"].removeprefix("Value error, ")
    if len(place) < 2:  # of a group: its validators name the flags
        return message
    flag, value = flag_of(program.options, ".".join(map(str, place[:2]))), shown(problem["input"])
    if problem["type"] == "literal_error":
        return unknown_name(flag, value, re.findall("'([^']*)'", str(bounds["expected"])))
    if problem["type"] in SENTENCES:
        message = SENTENCES[problem["type"]].format_map({name: shown(bound) for name, bound in bounds.items()})
    return f"{flag} {value}: {message[0].lower()}{message[1:]}"
