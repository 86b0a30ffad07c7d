"""Write a stand-in for Dolphin into a folder: a program that libmelee starts as the real one, and its disc."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any, Final, NoReturn

from selfplay.games.errors import GameError
from tests.support.fake_dolphin.disc import CLOCKS, PERSONAS, disc_of
from tests.support.fake_dolphin.write import write_stand_in

PROGRAM: Final = "fake_dolphin"


class _Parser(argparse.ArgumentParser):
    """A mistake is one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    """The command line; what is not given leaves no trace, so that the disc has its defaults."""
    made = _Parser(prog=PROGRAM, description=__doc__, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    made.add_argument("folder", type=Path, metavar="FOLDER", help="made if it is not there")
    made.add_argument("--seed", type=int, metavar="N", help="of the games (default 0)")
    made.add_argument("--pace", type=float, metavar="F", help="frames a second; 0: as fast as inputs come (default 0)")
    made.add_argument("--persona", metavar="NAME", help=f"which Dolphin it is: {', '.join(PERSONAS)}")
    made.add_argument("--boot-s", type=float, metavar="S", help="seconds until the port is opened (default 0)")
    made.add_argument("--slp-version", metavar="X.Y.Z", help="of the events (default 3.18.0)")
    made.add_argument(
        "--fault", dest="faults", action="append", type=_fault, metavar="KIND[@N|~N][!]",
        help=f"goes wrong at moment N, or at random once in N moments, with ! once and never again; may be given "
        f"again: {', '.join(CLOCKS)}",
    )  # fmt: skip
    made.add_argument("--fault-seed", type=int, metavar="N", help="of random moments (default: other ones each time)")
    made.add_argument("--replay", metavar="FILE", help="serve this .slp file, with no menus before it")
    made.add_argument("--rollback-every", type=int, metavar="N", help="send every Nth frame wrong, then once more")
    made.add_argument("--leak-mb-per-1000-frames", type=float, metavar="MB", help="take memory and never give it back")
    made.add_argument("--journal", metavar="FILE", help="add starts, games and faults to this file")
    made.add_argument("--human", metavar="NAME", help="scripted player at ports of real controllers (default idle)")
    made.add_argument("--human-character", metavar="NAME", help="whom they choose (default fox)")
    return made


def _fault(text: str) -> dict[str, Any]:
    """``crash``, ``crash@500``, ``crash~20000``, each with ``!`` behind it or not."""
    fault: dict[str, Any] = {"once": True} if text.endswith("!") else {}
    text = text.removesuffix("!")
    for mark, name in (("@", "at"), ("~", "every")):
        kind, found, number = text.partition(mark)
        if found:
            try:
                return {**fault, "kind": kind, name: int(number)}
            except ValueError:
                raise argparse.ArgumentTypeError(f"{number!r} is no whole number") from None
    return {**fault, "kind": text}


def main(arguments: list[str] | None = None) -> int:
    """Write, and print what to type next; the exit code."""
    given = vars(parser().parse_args(arguments))
    folder = given.pop("folder")
    for name in ("replay", "journal"):
        if name in given:
            given[name] = str(Path(given[name]).resolve())
    try:
        program, disc = write_stand_in(folder, disc_of(given))
    except GameError as error:
        sys.stderr.write(f"{PROGRAM}: {error}\n")
        return 2
    chosen = json.loads(disc.read_text(encoding="utf-8"))
    sys.stdout.write(f"{program} and {disc.name}, {json.dumps(chosen) if chosen else 'with the defaults'}\n")
    files = f"--dolphin {shlex.quote(str(program))} --iso {shlex.quote(str(disc))}"
    sys.stdout.write(f"next: selfplay train --game-type dolphin {files}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
