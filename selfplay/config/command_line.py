"""Flags, files and presets to one validated configuration: the parser of every training."""

from __future__ import annotations

import argparse
import atexit
import gc
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar, get_args, get_origin

from pydantic import ValidationError

from envs.distribution import missing_extra, version
from envs.errors import LONGEST_LINE, GameError, shortened
from envs.files import MAX_TEXT_BYTES, parse_toml, printable, read_plain
from envs.plugins import allow
from envs.spelling import nearest
from selfplay import console, verbs
from selfplay.config.base import PARTIAL, Group
from selfplay.config.options import Option, field_of, flag_of, paths, shown, value_of, without_flag
from selfplay.config.words import by_word, meant, setting_meant
from selfplay.errors import ConfigError, SelfPlayError, out_of_memory

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
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
    """Parsed command line of a program."""

    config: Settings
    resume: bool
    preset: str | None
    explicit: dict[str, Any]  # values given by the user, by dotted name; with --resume those of the preset, too
    notice: str | None = None  # to be printed before work starts


@dataclass(frozen=True, slots=True)
class Program(Generic[Settings]):
    """A command and its settings."""

    description: str
    epilog: str
    settings: type[Settings]
    options: tuple[Option, ...]
    presets: Presets
    example: tuple[str, str]  # a setting, group.name, and a value of it, for help and messages
    page: str  # that lists all settings
    resume: str  # help text of --resume
    imply: Callable[[dict[str, Any]], None]  # adds what follows from what the user gave, by dotted name
    check: Callable[[Settings], None]  # ConfigError for names that only other packages know
    elsewhere: Mapping[str, str] = field(default_factory=dict)  # flags that mean nothing here: whose they are
    words: Mapping[str, str] = field(default_factory=dict)  # words that are no flags: what to type in their place


class Parser(argparse.ArgumentParser):
    """One clear line for a mistake, with the name that was meant, and exit code 2.

    Args:
        words: Words that are no flags here, without dashes: what to type in their place.
        elsewhere: Flags that mean nothing here: whose they are.
        **settings: Of ``argparse.ArgumentParser``.
    """

    def __init__(
        self,
        *,
        words: Mapping[str, str] | None = None,
        elsewhere: Mapping[str, str] | None = None,
        **settings: Any,  # noqa: ANN401
    ) -> None:
        named: dict[str, Any] = {"prog": verbs.program(), "allow_abbrev": False, **settings}
        super().__init__(**named)
        self._words, self._elsewhere = words or {}, elsewhere or {}
        self.add_argument("--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="show the version")

    def parse_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> Any:  # noqa: ANN401
        found, unknown = self.parse_known_args(None if args is None else list(args), namespace)
        if unknown:
            self.error(self.unknown(unknown))
        return found

    def unknown(self, arguments: Sequence[str]) -> str:
        """Error message for arguments that this command does not have; suggests the nearest flag."""
        word = next((word for word in arguments if word.startswith("-")), arguments[0])
        flag = word.partition("=")[0]
        if flag in self._elsewhere:
            other = f"{flag} is a flag of {self._elsewhere[flag]}"
            here = by_word(flag, self._option_string_actions)
            return f"unknown flag {flag}: did you mean {here}? {other}" if here else other
        instead = self._words.get(flag.lstrip("-"))
        if not flag.startswith("-"):
            return f"{word!r} is not a flag{f': did you mean {instead}?' if instead else '; see --help'}"
        hint = f": did you mean {instead}?" if instead else meant(flag, self._option_string_actions)
        return f"unknown flag {flag}{hint}"

    def error(self, message: str) -> NoReturn:
        self.exit(2, shortened(printable(f"{self.prog}: {self._plain(message)}"), LONGEST_LINE) + "\n")

    def _plain(self, message: str) -> str:
        """A sentence of argparse in plain words."""
        if found := _MISSING.fullmatch(message):
            return "; ".join(map(self._missing, found["names"].split(", ")))
        if found := _ONE_OF.fullmatch(message):
            return f"{' or '.join(found['names'].split())} is needed"
        if found := _NO_NUMBER.fullmatch(message):
            return f"{found['flag']} {found['value']}: a {_NUMBERS[found['kind']]} is needed"
        if found := _NO_CHOICE.fullmatch(message):
            valid = re.findall("'([^']*)'", found["valid"])
            return unknown_name(found["flag"], found["value"], valid)
        if found := _NO_VALUE.fullmatch(message):
            action = self._option_string_actions.get(found["flag"])
            metavar = action.metavar if action is not None else None
            return f"{found['flag']} needs a value{f': {metavar}' if isinstance(metavar, str) else ''}"
        return message.removeprefix("argument ")

    def _missing(self, name: str) -> str:
        action = next((a for a in self._actions if name in (a.metavar, a.dest, "/".join(a.option_strings))), None)
        about = "" if action is None or action.help is None else f": {action.help}"
        return f"{name} is missing{about}"


_MISSING: Final = re.compile(r"the following arguments are required: (?P<names>.*)")
_ONE_OF: Final = re.compile(r"one of the arguments (?P<names>.*) is required")
_NO_NUMBER: Final = re.compile(r"argument (?P<flag>\S+): invalid (?P<kind>int|float) value: '(?P<value>.*)'")
_NO_CHOICE: Final = re.compile(r"argument (?P<flag>\S+): invalid choice: '(?P<value>.*)' \(choose from (?P<valid>.*)\)")
_NO_VALUE: Final = re.compile(r"argument (?P<flag>\S+): expected one argument")
_SHORT_NUMBER: Final = re.compile(r"(?P<digits>-?\d+(?:\.\d+)?)(?P<power>e\+?\d{1,3}|k|m)")
_POWERS: Final = {"k": "e3", "m": "e6"}
_NUMBERS: Final = {"int": "whole number", "float": "number"}


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        sys.stdout.write(f"selfplay {version()}\n")
        sys.exit(0)


def make_parser(program: Program[Settings]) -> Parser:
    """All flags, in sections; those that are not given leave no trace."""
    parser = Parser(
        words=without_flag(program.settings, program.options) | dict(program.words),
        elsewhere=program.elsewhere,
        usage="%(prog)s [flags]",
        description=program.description,
        epilog=verbs.respelled(program.epilog),
        formatter_class=_Compact,
        argument_default=argparse.SUPPRESS,
    )
    names = dict.fromkeys(option.section for option in program.options)
    sections = {name: parser.add_argument_group(name) for name in names}
    _add_sources(next(iter(sections.values())), program)
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


def _add_sources(section: argparse._ArgumentGroup, program: Program[Any]) -> None:
    """Add the flags that give values to many settings, or to any."""
    path, value = program.example
    section.add_argument(
        "--preset", metavar="NAME", help=f"Values to start from: {', '.join([*program.presets, NO_PRESET])}"
    )
    section.add_argument("--resume", action="store_true", help=program.resume)
    section.add_argument("--config", metavar="FILE", help="Settings by group, in TOML")
    section.add_argument(
        "--set", metavar="NAME=VALUE", action="append", help=f"Any setting of {program.page}: {path}={value}"
    )


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


def add_own_code(
    parser: argparse.ArgumentParser, text: str = "of a run of your own game: its module:name again"
) -> None:
    """Add the flags ``--game-type`` and ``--backbone``. The code in modules that they name may then be imported."""
    parser.add_argument("--game-type", type=_named, metavar="NAME", help=text)
    parser.add_argument(
        "--backbone", type=_named, metavar="NAME", help="of a policy with your own network: its module:name again"
    )


def _named(name: str) -> str:
    allow(name)
    return name


@console.command
def exit_code(program: str, command: Callable[[], int | None]) -> int:
    """Run a command; its exit code, 0 where it returns none. What a user did wrong is one line, not a traceback."""
    atexit.register(gc.freeze)  # otherwise Python looks for cycles among all objects of torch, for a second
    try:
        return command() or 0
    except SelfPlayError as error:
        _tell(program, str(error))
        return error.exit_code
    except GameError as error:
        _tell(program, str(error))
        return 2
    except ModuleNotFoundError as error:
        if (told := missing_extra(error)) is None:
            raise
        _tell(program, told)
        return 2
    except (MemoryError, RuntimeError) as error:
        if (lack := out_of_memory(error)) is None:
            raise
        _tell(program, f"memory ran out: {lack}")
        return 1
    except KeyboardInterrupt:
        return 130


def _tell(program: str, message: str) -> None:
    """Print an error message for the user."""
    sys.stderr.write(shortened(printable(verbs.respelled(f"{program}: {message}")), LONGEST_LINE) + "\n")


def run_command(parser: Callable[[], argparse.ArgumentParser], run: Callable[[argparse.Namespace], int | None]) -> int:
    """Parse the arguments and run a command; its exit code, see ``exit_code``."""
    return exit_code(verbs.program(), lambda: run(parser().parse_args()))


def parse(program: Program[Settings], arguments: Sequence[str]) -> Invocation[Settings]:
    """The configuration that the arguments ask for.

    Raises:
        ConfigError: with one line that names the flag, the value and what is valid.
        SystemExit: after ``--help``, or with code 2 where a flag lacks its value.
    """
    explicit, preset, resume = read(program, arguments)
    return invoke(program, explicit, preset, resume=resume)


def read(program: Program[Settings], arguments: Sequence[str]) -> tuple[dict[str, Any], str | None, bool]:
    """The values that the arguments give, by dotted name; the name of the preset; and whether a run is resumed.

    Raises:
        ConfigError: see ``parse``.
    """
    parser = make_parser(program)
    found, unknown = parser.parse_known_args(arguments)
    if unknown:
        raise ConfigError(parser.unknown(unknown))
    given = vars(found)
    preset, resume = given.pop("preset", None), bool(given.pop("resume", False))
    return _explicit(program, given), preset, resume


def invoke(
    program: Program[Settings], explicit: dict[str, Any], preset: str | None = None, *, resume: bool = False
) -> Invocation[Settings]:
    """The configuration with the values that the user gave, by dotted name; they are added to.

    Raises:
        ConfigError: see ``parse``.
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
    """The values of a preset, by dotted name.

    Raises:
        ConfigError: there is none of that name.
    """
    if name in (None, NO_PRESET):
        return {}
    check_name("--preset", name, [*program.presets, NO_PRESET])
    groups = program.presets[name].items()
    return {f"{group}.{setting}": value for group, part in groups for setting, value in part.items()}


def _explicit(program: Program[Settings], given: dict[str, Any]) -> dict[str, Any]:
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


def _from_file(program: Program[Settings], path: Path) -> dict[str, Any]:
    try:
        document = parse_toml(read_plain(path, MAX_TEXT_BYTES, follow=True))
    except OSError as error:
        raise ConfigError(f"--config {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(f"--config {path}: not TOML: {error}") from error
    return flatten(program, document, f"--config {path}")


def flatten(program: Program[Any], document: Mapping[str, object], where: str) -> dict[str, Any]:
    """Settings by group and name as settings by dotted name.

    Raises:
        ConfigError: one that does not exist; names ``where`` it stands.
    """
    flat: dict[str, Any] = {}
    for group, part in document.items():
        if not isinstance(part, Mapping):
            example, flags = program.example[0].partition(".")[0], {one.flag: one.path for one in program.options}
            near = setting_meant(group, paths(program.settings), flags)
            raise ConfigError(f"{where}: {group!r} stands outside a group such as [{example}]{near}")
        flat |= {_known(program, f"{group}.{name}", where): value for name, value in part.items()}
    return flat


def _from_text(program: Program[Settings], text: str) -> dict[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set {text}: NAME=VALUE is needed, such as {'='.join(program.example)}")
    path = _known(program, path.strip(), f"--set {text}")
    return {path: _split(value.strip(), field_of(program.settings, path))}


def _known(program: Program[Settings], path: str, where: str) -> str:
    valid = paths(program.settings)
    if path not in valid:
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


def check_name(flag: str, name: str | None, valid: Sequence[str]) -> None:
    """Refuse a name that is not one of those, with the nearest.

    Raises:
        ConfigError: it is none; None passes.
    """
    if name is not None and name not in valid:
        raise ConfigError(unknown_name(flag, name, valid))


def unknown_name(flag: str, name: str, valid: Sequence[str]) -> str:
    near = nearest(name, valid)
    return f"{flag} {name}: unknown{f', did you mean {near}?' if near else ''} (valid: {', '.join(valid)})"
