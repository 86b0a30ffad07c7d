"""Check a game of your own: what is broken, how fast it is, and where the time goes."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from selfplay.cli.parser import Parser
from selfplay.commands.cli import command
from selfplay.commands.time_limit import SECONDS, TimeLimit


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument(
        "game",
        metavar="NAME",
        help="module:name, pettingzoo:MODULE, openspiel:GAME, textarena:ID, or the name of a game",
    )
    made.add_argument(
        "--seconds", type=_seconds, default=SECONDS, metavar="S", help="limit of time (default: %(default)g)"
    )
    made.add_argument("--json", action="store_true", help="as JSON")
    return made


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds such as 60")
    return seconds


@command(parser)
def main(options: argparse.Namespace) -> int:
    """Print what was found; 1 where the game is broken."""
    from selfplay.config.programs import check_game
    from selfplay.games.registry import find_kind
    from selfplay.run.trainings import find_training

    check_game(options.game)
    return find_training(find_kind(options.game).training).check_game(options)


def limit_of(options: argparse.Namespace) -> TimeLimit:
    return TimeLimit(options.seconds, lambda text: print(f"{text} ...", file=sys.stderr, flush=True))


def check(options: argparse.Namespace) -> int:
    """Check a game whose players choose numbered actions."""
    from selfplay.commands.check_game import examine
    from selfplay.games.registry import find_game

    kind = find_game(options.game)
    found = examine(options.game, limit_of(options))
    if options.json:
        print(json.dumps(asdict(found)))
        return 1 if found.broken else 0
    spec = kind.actions
    parts = "+".join(map(str, [2] * spec.binary + list(spec.sizes)))
    print(f"{found.game}: {kind.obs_width} features, actions {parts}, players {', '.join(kind.ladder)}")
    for text in found.broken:
        print(f"  broken: {text}")
    if found.kept:
        print("  the contract is kept: seeds, blocks, snapshots, masks and refused actions, bit for bit")
    if found.exact is not None:
        print(f"  exact figures: {found.exact}")
    for text in found.notes:
        print(f"  note: {text}")
    if found.episode_length is not None:
        print(f"  random games last {found.episode_length:.1f} steps")
    print(f"  alone {found.steps_per_s:,.0f} steps/s{_shares(found.shares)}")
    if found.trained_steps_per_s is not None:
        print(f"  in training {found.trained_steps_per_s:,.0f} steps/s{_shares(found.trained_shares)}")
    return 1 if found.broken else 0


def _shares(shares: dict[str, float]) -> str:
    return f": {', '.join(f'{name} {share:.0%}' for name, share in shares.items())}" if shares else ""
