"""The command line of a study: ``python -m scripts.studies.NAME``."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.studies import ROOT
from scripts.studies.pages import versions
from selfplay.cli.parser import Parser
from selfplay.cli.running import exit_code
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence


class Command(Parser):
    """A parser with the options that studies share.

    Args:
        name: What follows ``scripts.studies``.
        description: The docstring of the module.
        settings: More of ``argparse``.
    """

    def __init__(self, name: str, description: str | None, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(prog=f"python -m scripts.studies.{name}", description=description, **settings)

    def add_seeds(self) -> None:
        self.add_argument("--seeds", type=whole_numbers, default="0,1,2", metavar="N,N", help="(default: %(default)s)")

    def add_parts(self, parts: Sequence[str]) -> None:
        self.add_argument("--parts", default=",".join(parts), metavar="NAME,NAME", help="what to do (default: all)")

    def add_runs(self, name: str) -> None:
        """Add ``--runs``: by default a folder of these versions, so that no run of older rules counts as finished."""
        made = "-".join(f"{what}{version}" for what, version in versions().items())
        default = ROOT / "checkpoints" / f"studies-{made}" / name
        self.add_argument("--runs", type=Path, default=default, metavar="DIR", help="(default: %(default)s)")

    def execute(self, run: Callable[[argparse.Namespace], int | None], arguments: Sequence[str] | None = None) -> int:
        """Parse the arguments, by default those of the process, and run the command; the exit code.

        An error of the user is one line, not a traceback.
        """
        options = self.parse_args(arguments)
        return exit_code(self.prog, lambda: _run(run, options))


def _run(run: Callable[[argparse.Namespace], int | None], options: argparse.Namespace) -> int | None:
    try:
        return run(options)
    except OSError as error:
        raise ConfigError(str(error)) from error


def chosen(flag: str, given: str | Iterable[object], valid: Collection[object]) -> list[Any]:
    """The names in a list with commas, or the values themselves.

    Raises:
        ConfigError: one that is not valid.
    """
    names = given.split(",") if isinstance(given, str) else list(given)
    for name in names:
        if name not in valid:
            raise ConfigError(f"{flag} {name}: unknown (valid: {', '.join(map(str, valid))})")
    return names


def notify(text: str) -> None:
    """Print a line of progress at once."""
    print(text, flush=True)


def tell_error(text: str) -> None:
    """Print a line of progress on the error stream, where figures go to the output."""
    print(text, file=sys.stderr, flush=True)


def exit_on_signals() -> None:
    """At SIGTERM or SIGHUP exit as after an error, which ends child processes. An ignored SIGHUP stays ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def whole_numbers(text: str) -> list[int]:
    """The value 0,1,2 of a flag, for ``type`` of argparse; nothing below 0."""
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() for word in words):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of whole numbers such as 0,1,2")
    return [int(word) for word in words]
