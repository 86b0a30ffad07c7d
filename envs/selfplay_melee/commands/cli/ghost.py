"""Make a policy that plays like a person: imitate the person's games, then train from there."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from selfplay.cli.parser import Parser, add_seed
from selfplay.commands.cli import command
from selfplay.errors import ConfigError

EPOCHS: Final = 20
MINUTES: Final = 10.0
MATCHES: Final = 20


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument("name", metavar="NAME", help="the person: a name or connect code in the games")
    made.add_argument(
        "--games", type=Path, required=True, metavar="DIR", help="folder of .slp files, such as RUN/people/games"
    )
    made.add_argument(
        "--epochs", type=int, default=EPOCHS, metavar="N", help="passes over the games (default: %(default)s)"
    )
    made.add_argument(
        "--minutes", type=float, default=MINUTES, metavar="F", help="minutes of training (default: %(default)s)"
    )
    made.add_argument(
        "--matches",
        type=int,
        default=MATCHES,
        metavar="N",
        help="games of the ghost for its figures of style (default: %(default)s)",
    )
    made.add_argument(
        "--checkpoint", type=Path, metavar="DIR", help="folder of the run (default: checkpoints/ghost-NAME)"
    )
    add_seed(made, "seed of all steps (default: %(default)s)")
    return made


@command(parser)
def main(options: argparse.Namespace) -> int:
    from selfplay.checkpoint.run_dir import CHECKPOINTS
    from selfplay.league.people_ledger import person_id
    from selfplay_melee.replays.folder import replay_files

    for flag, value in (("--epochs", options.epochs), ("--minutes", options.minutes), ("--matches", options.matches)):
        if not value > 0:
            raise ConfigError(f"{flag} {value:g}: more than 0 is needed")
    replay_files(options.games)
    run = options.checkpoint or CHECKPOINTS / f"ghost-{person_id(options.name).removeprefix('person-')}"
    from selfplay_melee.commands.ghost import Ghost, make

    asked = Ghost(options.name, options.games, run, options.epochs, options.minutes, options.matches, options.seed)
    return make(asked, print)
