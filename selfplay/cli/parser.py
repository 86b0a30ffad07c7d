"""The parser of all verbs: one clear line for a mistake."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from selfplay import verbs
from selfplay.config.words import by_word, meant, unknown_name
from selfplay.distribution import version
from selfplay.errors import ConfigError
from selfplay.games.errors import LONGEST_LINE, shortened
from selfplay.games.files import printable
from selfplay.games.plugins import allow, spelling


class Parser(argparse.ArgumentParser):
    """One clear line for a mistake, with the name that was meant, and exit code 2.

    Args:
        words: Words that are no flags here, without dashes: what to type in their place.
        elsewhere: Returns the flags of other commands that mean nothing here, each with the end of the message.
        **settings: Of ``argparse.ArgumentParser``.
    """

    def __init__(
        self,
        *,
        words: Mapping[str, str] | None = None,
        elsewhere: Callable[[], Mapping[str, str]] = dict,
        **settings: Any,  # noqa: ANN401
    ) -> None:
        named: dict[str, Any] = {"prog": verbs.program(), "allow_abbrev": False, **settings}
        super().__init__(**named)
        self._words, self._elsewhere = words or {}, elsewhere
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
        if (elsewhere := self._elsewhere()) and flag in elsewhere:
            other = f"{flag} {elsewhere[flag]}"
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
_NUMBERS: Final = {"int": "whole number", "float": "number"}


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        sys.stdout.write(f"selfplay {version()}\n")
        sys.exit(0)


def add_own_code(
    parser: argparse.ArgumentParser, text: str = "of a run of your own game: its module:name again"
) -> None:
    """Add the flags ``--game-type`` and ``--backbone``. The code in modules that they name may then be imported."""
    parser.add_argument("--game-type", type=_named, metavar="NAME", help=text)
    parser.add_argument(
        "--backbone", type=_named, metavar="NAME", help="of a policy with your own network: its module:name again"
    )


def add_seed(parser: argparse.ArgumentParser | argparse._ArgumentGroup, text: str, default: int | None = 0) -> None:
    """Add the flag ``--seed``. A seed that games cannot have is refused."""
    parser.add_argument("--seed", type=int, action=_Seed, default=default, metavar="N", help=text)


class _Seed(argparse.Action):
    def __call__(self, _: object, namespace: argparse.Namespace, seed: Any, flag: str | None = None) -> None:  # noqa: ANN401
        if not 0 <= seed < 2**64:
            raise ConfigError(f"{flag} {seed}: 0 to {2**64 - 1} are possible")
        setattr(namespace, self.dest, seed)


def add_cluster(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the flags ``--host`` and ``--ray-address``; ``what`` says in the help what actors do."""
    from selfplay.config.base import SelfPlaySettings

    hosts, address = ("thread", "ray"), SelfPlaySettings.model_fields["ray_address"].description or ""
    parser.add_argument("--host", choices=hosts, default=hosts[0], metavar="HOST", help=f"ray: {what} on a Ray cluster")
    parser.add_argument("--ray-address", metavar="HOST", help=address.replace("`", "").partition(";")[0])


def check_cluster(options: argparse.Namespace, actors: int | None, flag: str) -> None:
    """Refuse flags of ``add_cluster`` that do not go together, and a number of actors below 1, given by ``flag``."""
    from selfplay.config.resolve import check_host

    check_host(options.host, options.ray_address)
    if actors is not None and actors < 1:
        raise ConfigError(f"{flag} {actors}: at least 1 is needed")


def _named(name: str) -> str:
    allow(name)
    return spelling(name)
