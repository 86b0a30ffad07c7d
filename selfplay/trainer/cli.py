"""The command line of ``scripts/train_self_play.py``: flags, files and presets to one validated configuration."""

from __future__ import annotations

import argparse
import difflib
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from pydantic import ValidationError

from envs.errors import GameError
from envs.melee import bots
from envs.melee.tables import CHARACTERS, STAGES
from selfplay.config import OPTIONS, PRESETS, RANDOM, Config, by_path
from selfplay.errors import ConfigError, SelfPlayError
from selfplay.league.modes import MODES

EPILOG: Final = """examples:
  python scripts/train_self_play.py --game-type mock --timesteps 1000 --num-games 4
      a quick look, seconds
  python scripts/train_self_play.py --game-type mock --preset laptop --track-elo
      learns to beat every scripted player and ends with a leaderboard
  python scripts/train_self_play.py --resume --timesteps 20000000
      goes on with the newest run
"""


@dataclass(frozen=True, slots=True)
class Invocation:
    """What the user asked for."""

    config: Config
    resume: bool
    preset: str | None
    explicit: dict[str, Any]  # what the user gave, by dotted name; with --resume what the preset gave, too


class Parser(argparse.ArgumentParser):
    """One clear line for a mistake, with the nearest valid name, and exit code 2."""

    def error(self, message: str) -> NoReturn:
        """See ``argparse``."""
        self.exit(2, f"{self.prog}: {message}\n")


def make_parser() -> Parser:
    """All flags, in sections; those that are not given leave no trace."""
    parser = Parser(
        prog="train_self_play.py",
        description="Two copies of a policy fight each other, thousands of games, and the policy learns.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    sections: dict[str, argparse._ArgumentGroup] = {}
    for option in OPTIONS:
        if option.section not in sections:
            sections[option.section] = parser.add_argument_group(option.section)
        text = (option.field.description or "").replace("`", "").replace("%", "%%")
        if option.default not in (None, (), False):
            text += f" (default {shown(option.default)})"
        if option.is_switch:
            sections[option.section].add_argument(
                option.flag, dest=option.path, action=argparse.BooleanOptionalAction, help=text
            )
        else:
            sections[option.section].add_argument(option.flag, dest=option.path, metavar=option.metavar, help=text)
    settings = parser.add_argument_group("Settings from elsewhere")
    settings.add_argument("--preset", metavar="NAME", help=f"a set of values: {', '.join(PRESETS)}; flags win over it")
    settings.add_argument("--config", metavar="FILE", help="settings in TOML, by group: [ppo] gamma = 0.98")
    settings.add_argument("--set", metavar="NAME=VALUE", action="append", help="one setting: ppo.gamma=0.98")
    settings.add_argument("--resume", action="store_true", help="continue the run of --checkpoint, or the newest")
    return parser


def exit_code(program: str, command: Callable[[], int | None]) -> int:
    """Run a command; its exit code, 0 where it returns none. What a user did wrong is one line, not a traceback."""
    try:
        return command() or 0
    except SelfPlayError as error:
        sys.stderr.write(f"{program}: {error}\n")
        return error.exit_code
    except GameError as error:
        sys.stderr.write(f"{program}: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


def shown(value: object) -> str:
    """A default as the user would type it."""
    if isinstance(value, tuple):
        return ",".join(map(shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def parse(arguments: Sequence[str]) -> Invocation:
    """The configuration that the arguments ask for.

    Raises:
        ConfigError: with one line that names the flag, the value and what is valid.
        SystemExit: after ``--help``, or with code 2 where a flag lacks its value.
    """
    parser = make_parser()
    found, unknown = parser.parse_known_args(arguments)
    if unknown:
        raise ConfigError(_unknown_flag(unknown[0], parser))
    given = vars(found)
    preset = given.pop("preset", None)
    if preset is not None and preset not in PRESETS:
        raise ConfigError(f"--preset {preset}: unknown (valid: {', '.join(PRESETS)})")
    resume = bool(given.pop("resume", False))
    explicit: dict[str, Any] = {}
    if (file := given.pop("config", None)) is not None:
        explicit |= _from_file(Path(file))
    for text in given.pop("set", None) or ():
        explicit |= _from_text(text)
    for option in OPTIONS:
        if option.path in given:
            explicit[option.path] = _split(given[option.path], option.default)
    values: dict[str, dict[str, Any]] = {group: dict(part) for group, part in PRESETS.get(preset or "", {}).items()}
    if "run.max_minutes" in explicit and "run.timesteps" not in explicit:
        explicit["run.timesteps"] = None
    for path, value in explicit.items():
        group, _, name = path.partition(".")
        values.setdefault(group, {})[name] = value
    config = _validate(values)
    _check_names(config)
    paths = list(explicit)
    if resume:  # a preset is no default here: where it differs from the run, the user has to know
        paths += [f"{group}.{name}" for group, part in PRESETS.get(preset or "", {}).items() for name in part]
    parsed = {path: getattr(getattr(config, path.partition(".")[0]), path.partition(".")[2]) for path in paths}
    return Invocation(config, resume, preset, parsed)


def _split(value: Any, default: Any) -> Any:  # noqa: ANN401
    if not isinstance(value, str):
        return value
    if isinstance(default, tuple):
        return tuple(part for part in value.split(",") if part)
    if value.replace("_", "").replace(",", "").isdigit():
        return value.replace("_", "").replace(",", "")
    if isinstance(default, int) or default is None:
        whole = _whole(value)
        return value if whole is None else whole
    return value


def _whole(text: str) -> int | None:
    """12e6 as a whole number."""
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() and "e" in text.lower() else None


def _from_file(path: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"--config {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"--config {path}: not TOML: {error}") from error
    flat: dict[str, Any] = {}
    for group, part in document.items():
        if not isinstance(part, dict):
            raise ConfigError(f"--config {path}: {group!r} stands outside a group such as [ppo]")
        flat |= {_known(f"{group}.{name}", f"--config {path}"): value for name, value in part.items()}
    return flat


def _from_text(text: str) -> dict[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set {text}: NAME=VALUE is needed, such as ppo.gamma=0.98")
    path = _known(path.strip(), f"--set {text}")
    group, _, name = path.partition(".")
    return {path: _split(value.strip(), getattr(getattr(Config(), group), name))}


def _known(path: str, where: str) -> str:
    valid = [f"{group}.{name}" for group in Config.model_fields for name in type(getattr(Config(), group)).model_fields]
    if path not in valid:
        raise ConfigError(f"{where}: unknown setting {path!r}{_nearest(path, valid)}")
    return path


def _validate(values: dict[str, dict[str, Any]]) -> Config:
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        path = ".".join(str(part) for part in problem["loc"][:2])
        option = by_path().get(path)
        name = option.flag if option else f"--set {path}"
        message = problem["msg"].removeprefix("Value error, ")
        if not problem["loc"]:
            raise ConfigError(message) from error
        message = message[0].lower() + message[1:]
        raise ConfigError(f"{name} {shown(problem['input'])}: {message}") from error


def _check_names(config: Config) -> None:
    """Names that only other packages know."""
    checks: list[tuple[str, str | None, Sequence[str]]] = [
        ("--character", config.game.character, [*sorted(CHARACTERS), RANDOM]),
        ("--opponent-character", config.game.opponent_character, [*sorted(CHARACTERS), RANDOM]),
        ("--stage", config.game.stage, [*sorted(STAGES), RANDOM]),
        ("--mode", config.league.mode, sorted(MODES)),
        *(("--held-out", name, bots.NAMES) for name in config.league.held_out),
    ]
    for flag, name, valid in checks:
        if name is not None and name not in valid:
            raise ConfigError(f"{flag} {name}: unknown{_nearest(name, valid)} (valid: {', '.join(valid)})")


def _unknown_flag(argument: str, parser: argparse.ArgumentParser) -> str:
    flag = argument.partition("=")[0]
    if not flag.startswith("-"):
        return f"{argument!r} is not a flag; see --help"
    return f"unknown flag {flag}{_nearest(flag, list(parser._option_string_actions))}; see --help"


def _nearest(name: str, valid: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, valid, n=1, cutoff=0.4)
    return f", did you mean {near[0]}?" if near else ""
