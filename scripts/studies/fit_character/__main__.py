"""Fit characters of the mock to replays: heights of the hull that meets floors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.studies.command_line import Command, chosen, notify
from scripts.studies.fit_character import OWN, fit
from selfplay.errors import ConfigError
from selfplay_melee.tables import CHARACTERS

if TYPE_CHECKING:
    import argparse


def main() -> int:
    command = Command("fit_character", __doc__)
    command.add_argument("names", nargs="*", metavar="NAME", help="characters (default: all that play in the replays)")
    command.add_argument("--replays", nargs="+", type=Path, required=True, metavar="FILE", help=".slp files")
    command.add_argument("--out", type=Path, default=OWN, metavar="FOLDER", help="of the tables (default: the game's)")
    return command.execute(run)


def run(options: argparse.Namespace) -> None:
    """Fit and name the files."""
    names = chosen("NAME", options.names, CHARACTERS)
    try:
        written = fit(options.replays, options.out, names)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    for path in written:
        notify(str(path))


if __name__ == "__main__":
    sys.exit(main())
