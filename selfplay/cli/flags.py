"""Flags, files and presets of a training, from the command line to values by dotted name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, get_args, get_origin

from selfplay import verbs
from selfplay.cli.parser import Parser
from selfplay.config.base import Group
from selfplay.config.options import field_of, shown, without_flag
from selfplay.config.program import NO_PRESET, Invocation, Program, flatten, known, read_toml
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

Settings = TypeVar("Settings", bound=Group)


@dataclass(frozen=True, slots=True)
class CommandLine(Generic[Settings]):
    """A command that trains: its program, its help, and what is said of unknown flags."""

    program: Program[Settings]
    invoke: Callable[[dict[str, Any], str | None, bool], Invocation[Settings]]
    description: str
    epilog: str
    resume: str = "Continue the run of --checkpoint, or the newest"
    elsewhere: Callable[[], Mapping[str, str]] = dict  # flags of other trainings: whose they are
    words: Mapping[str, str] = field(default_factory=dict)  # words that are no flags: what to type in their place


SETTINGS: Final = "docs/reference/settings.md"  # lists all settings
_SHORT_NUMBER: Final = re.compile(r"(?P<digits>-?\d+(?:\.\d+)?)(?P<power>e\+?\d{1,3}|k|m)")
_POWERS: Final = {"k": "e3", "m": "e6"}


def make_parser(command: CommandLine[Any]) -> Parser:
    """All flags, in sections; those that are not given leave no trace."""
    program = command.program
    parser = Parser(
        words=without_flag(program.settings, program.options) | dict(command.words),
        elsewhere=command.elsewhere,
        usage="%(prog)s [flags]",
        description=command.description,
        epilog=verbs.respelled(command.epilog),
        formatter_class=_Compact,
        argument_default=argparse.SUPPRESS,
    )
    names = dict.fromkeys(option.section for option in program.options)
    sections = {name: parser.add_argument_group(name) for name in names}
    _add_sources(next(iter(sections.values())), command)
    for option in program.options:
        text = (option.field.description or "").partition(";")[0].replace("`", "").replace("%", "%%")
        if option.default not in (None, (), False, ""):
            text += f" (default {shown(option.default)})"
        if option.is_switch:
            action = "store_true" if option.flag.startswith("--no-") else argparse.BooleanOptionalAction
            sections[option.section].add_argument(option.flag, dest=option.path, action=action, help=text)
        else:
            sections[option.section].add_argument(option.flag, dest=option.path, metavar=option.metavar, help=text)
    return parser


def _add_sources(section: argparse._ArgumentGroup, command: CommandLine[Any]) -> None:
    """Add the flags that give values to many settings, or to any."""
    program = command.program
    path, value = program.example
    section.add_argument(
        "--preset", metavar="NAME", help=f"Values to start from: {', '.join([*program.presets, NO_PRESET])}"
    )
    section.add_argument("--resume", action="store_true", help=command.resume)
    section.add_argument("--config", metavar="FILE", help="Settings by group, in TOML")
    section.add_argument("--set", metavar="NAME=VALUE", action="append", help=f"Setting of {SETTINGS}: {path}={value}")


class _Compact(argparse.RawDescriptionHelpFormatter):
    """A line for each flag: a wide column for flags, and one spelling of a switch and its opposite."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=29)

    def add_argument(self, action: argparse.Action) -> None:
        if action.dest not in ("help", "version"):  # every command has those
            super().add_argument(action)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if isinstance(action, argparse.BooleanOptionalAction):
            return f"--[no-]{action.option_strings[0][2:]}"
        return super()._format_action_invocation(action)


def parse(command: CommandLine[Settings], arguments: Sequence[str]) -> Invocation[Settings]:
    """The configuration that the arguments ask for.

    Raises:
        ConfigError: with one line that names the flag, the value and what is valid.
        SystemExit: after ``--help``, or with code 2 where a flag lacks its value.
    """
    parser = make_parser(command)
    found, unknown = parser.parse_known_args(arguments)
    if unknown:
        raise ConfigError(parser.unknown(unknown))
    given = vars(found)
    preset, resume = given.pop("preset", None), bool(given.pop("resume", False))
    return command.invoke(_explicit(command.program, given), preset, resume)


def _explicit(program: Program[Any], given: dict[str, Any]) -> dict[str, Any]:
    """The values of ``--config``, ``--set`` and flags, by dotted name; later ones win."""
    explicit: dict[str, Any] = {}
    if (file := given.get("config")) is not None:
        explicit |= _from_file(program, Path(file))
    for text in given.get("set", ()):
        explicit |= _from_text(program, text)
    for option in program.options:
        if option.path in given:
            explicit[option.path] = _split(given[option.path], option.field)
    return explicit


def _split(value: Any, field: FieldInfo) -> Any:  # noqa: ANN401
    if not isinstance(value, str):
        return value
    kinds = (field.annotation, *get_args(field.annotation))
    if any(get_origin(kind) is tuple for kind in kinds):
        return tuple(part for part in value.split(",") if part)
    if value.replace("_", "").replace(",", "").isdigit():
        return value.replace("_", "").replace(",", "")
    if str not in kinds and (isinstance(field.default, int) or field.default is None):
        whole = _whole(value)
        return value if whole is None else whole
    return value


def _whole(text: str) -> int | None:
    """12e6, 12M or 500k as a whole number."""
    if not (found := _SHORT_NUMBER.fullmatch(text.lower())):
        return None
    number = float(found["digits"] + _POWERS.get(found["power"], found["power"]))
    return int(number) if number.is_integer() else None


def _from_file(program: Program[Any], path: Path) -> dict[str, Any]:
    name = f"--config {path}"
    return flatten(program, read_toml(path, name), name)


def _from_text(program: Program[Any], text: str) -> dict[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set {text}: NAME=VALUE is needed, such as {'='.join(program.example)}")
    path = known(program, path.strip(), f"--set {text}")
    return {path: _split(value.strip(), field_of(program.settings, path))}
