"""Write initial states of a game, without conversations, as train.parquet and test.parquet.

For trainers that play the games themselves: a row has a player's initial prompt, and the state.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from selfplay.cli.parser import Parser, add_seed
from selfplay.commands.cli import command
from selfplay.dialogue import DEFAULT
from selfplay.verbs import respelled

EPILOG = """example:
  selfplay initial-states --output_dir data/dialop --num_train 1000 --num_test 100
"""


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__, epilog=respelled(EPILOG), formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--output_dir", type=Path, required=True, metavar="DIR", help="folder to write to")
    made.add_argument("--num_train", type=int, default=1000, metavar="N", help="states in train.parquet (%(default)s)")
    made.add_argument("--num_test", type=int, default=100, metavar="N", help="states in test.parquet (%(default)s)")
    add_seed(made, "seed of the states (%(default)s)")
    made.add_argument("--game", default=DEFAULT, metavar="NAME", help="text game (%(default)s)")
    made.add_argument("--size", type=int, metavar="N", help="size of the game (default: the game's)")
    made.add_argument(
        "--rows",
        choices=("state", "player"),
        default="state",
        help="a row for each state, for a loop that plays both seats, or one for each of its players (%(default)s)",
    )
    made.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="another setting of the game: known=0.3"
    )
    return made


@command(parser)
def main(options: argparse.Namespace) -> None:
    from selfplay.checkpoint import check_writable_folder

    check_writable_folder(options.output_dir, "--output_dir")
    from selfplay.dialogue.files.states import settings_of, write_states

    sizes = {"train": options.num_train, "test": options.num_test}
    settings = ({} if options.size is None else {"size": options.size}) | settings_of(options.set)
    seats = 2 if options.rows == "player" else 1

    def notice(line: str) -> None:
        print(line, file=sys.stderr)

    for path in write_states(options.output_dir, options.game, sizes, settings, options.seed, seats, notice):
        print(f"wrote {path}")
