"""Convert the games of a folder to train.parquet and val.parquet, with a row for each seat of a game."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.config.command_line import Parser, exit_code
from selfplay.verbs import program

if TYPE_CHECKING:
    import argparse


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = Parser(prog=program(), description=__doc__, allow_abbrev=False)
    made.add_argument("--folder", type=Path, required=True, metavar="DIR", help="folder of the games")
    made.add_argument(
        "--states", action="store_true", help="write states.parquet too: a row for each state, for on-policy training"
    )
    made.add_argument("--resume", action="store_true", help="reuse tables of these games")
    return made


def run(options: argparse.Namespace) -> None:
    """Read, convert, write."""
    from selfplay.commands.dialogue_files.rows import convert

    convert(options.folder, options.states, options.resume, lambda line: print(line, flush=True))


def main() -> int:
    """Exit code 0, 1 for a failure, 2 for a mistake of the user."""
    options = parser().parse_args()
    return exit_code(program(), lambda: run(options))
