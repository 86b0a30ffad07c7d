"""Print one dialogue game with its masks in columns, from a file or played by a model."""

from __future__ import annotations

import argparse
from pathlib import Path

from selfplay.cli.parser import Parser
from selfplay.commands.cli import command
from selfplay.dialogue import DEFAULT


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    what = made.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--games", type=Path, metavar="FILE", help="a selfplay_games.jsonl, with its settings.json beside it"
    )
    what.add_argument("--model", metavar="NAME", help="tiny, a Hugging Face name, or a folder; plays a game")
    made.add_argument("--game-id", metavar="ID", help="game of the file (default: the first)")
    made.add_argument("--game", default=DEFAULT, metavar="NAME", help="game to play (%(default)s)")
    made.add_argument("--game-size", metavar="N", help="size of the game (default: the game's)")
    made.add_argument("--temperature", default=1.0, metavar="F", help="sampling temperature (%(default)s)")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the game (%(default)s)")
    made.add_argument(
        "--start-tokens", metavar="N", help="tokens of the supervised training of tiny, if it does not exist"
    )
    return made


@command(parser)
def main(options: argparse.Namespace) -> None:
    from selfplay.dialogue.commands.inspect import inspect_file, inspect_played
    from selfplay.dialogue.files.settings import make_settings

    values = dict(vars(options))
    path, game_id = values.pop("games"), values.pop("game_id")
    if path is not None:
        inspect_file(path, game_id, print)
        return
    several = {"games": 2, "games_per_state": 2, "baseline": "group", "iteration": 0, "exp_name": "inspected"}
    usual = {"top_p": 1.0, "max_new_tokens": None, "max_length": 100}
    inspect_played(make_settings({**values, **several, **usual}), print)
