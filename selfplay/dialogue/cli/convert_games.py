"""Convert the games of a folder to train.parquet and val.parquet, with a row for each seat of a game."""

from __future__ import annotations

import argparse
from pathlib import Path

from selfplay.cli.parser import Parser
from selfplay.commands.cli import command


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument("--folder", type=Path, required=True, metavar="DIR", help="folder of the games")
    made.add_argument(
        "--states", action="store_true", help="write states.parquet too: a row for each state, for on-policy training"
    )
    made.add_argument("--resume", action="store_true", help="reuse tables of these games")
    return made


@command(parser)
def main(options: argparse.Namespace) -> None:
    from selfplay.checkpoint import check_writable_folder

    check_writable_folder(options.folder, "--folder")
    from selfplay.dialogue.files.rows import convert

    convert(options.folder, options.states, options.resume, lambda line: print(line, flush=True))
