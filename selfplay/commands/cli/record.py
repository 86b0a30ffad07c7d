"""Record games between scripted players and policies into one file, a data set for imitation."""

from __future__ import annotations

import argparse
from pathlib import Path

from selfplay.cli.parser import Parser, add_own_code, add_seed
from selfplay.commands.cli import command
from selfplay.errors import ConfigError
from selfplay.verbs import quoted, respelled


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__, words=dict.fromkeys(("bot", "policy", "opponent"), "--players"))
    add_own_code(made, "game to record")
    made.add_argument(
        "--players", default="", metavar="A,B",
        help="players, as evaluate takes them; they swap seats, and one alone plays itself",
    )  # fmt: skip
    made.add_argument("--games", type=int, default=20, metavar="N", help="(default: %(default)s)")
    made.add_argument("--out", type=Path, default=Path("games.jsonl"), metavar="FILE", help="(default: %(default)s)")
    add_seed(made, "seed of the games (default: %(default)s)")
    return made


@command(parser, one_thread=True)
def _into_one_file(options: argparse.Namespace) -> None:
    from selfplay.config.programs import check_game
    from selfplay.games.registry import DEFAULT, find_game
    from selfplay.report.saving import check_writable

    game, path = options.game_type or DEFAULT, options.out
    check_game(game)
    kind = find_game(game)
    names = [name for name in options.players.split(",") if name]
    if not names:
        raise ConfigError(f"--players A,B is needed: players of {game} (scripted: {', '.join(kind.rated.players)})")
    if kind.single is None or not kind.repeats:
        raise ConfigError(f"--game-type {game}: games that do not repeat themselves from seed and actions are not kept")
    check_writable(path)
    if path.exists():
        raise ConfigError(f"--out {path}: exists already")
    from selfplay.commands.record import player, record

    players = [player(name, game) for name in names]
    for done in record(game, players, options.games, options.seed, path):
        print(f"{done} of {options.games} games", flush=True)
    print(f"{options.games} games in {path}")
    print(f"  players: {', '.join(dict.fromkeys(player.id for player in players))}")
    print(respelled("next: selfplay imitate") + f" --game-type {game} --replays {quoted(path)}")


def main() -> int:
    """Record as the game of the arguments is recorded; the exit code."""
    from selfplay.cli.game_type import run_for_game

    return run_for_game("record", _into_one_file)
