"""The points that the generations of a run win against the alpha-beta player, which training never meets.

The run is one of ``--preset board --game-type scripts.studies.connect_four.block:ConnectFourBlock``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from envs import plugins
from scripts.studies.command_line import Command, tell
from scripts.studies.connect_four import alpha_beta
from scripts.studies.connect_four.board import Choose, Position, play
from scripts.studies.connect_four.search import COLUMNS
from selfplay.checkpoint import list_generations, resolve_run
from selfplay.errors import ConfigError
from selfplay.league.statistics import score_interval
from selfplay.policy.policy import load_policy

if TYPE_CHECKING:
    import argparse

    from selfplay.policy.policy import Policy

GAME: Final = "scripts.studies.connect_four.block:ConnectFourBlock"


def greedy(policy: Policy) -> Choose:
    """A player that makes the most probable legal move of a policy."""

    def choose(position: Position) -> int:
        obs = position.planes.astype(np.float32).reshape(1, -1)
        legal = np.isin(np.arange(COLUMNS), position.legal)[None]
        return int(policy.act(obs, legal=legal, greedy=True)[0, 0])

    return choose


def scores(choose: Choose, depth: int, games: int, seed: int) -> list[float]:
    """The score of a player in each game against alpha-beta with random ties; it begins every other game."""
    found = []
    for game in range(games):
        rng = np.random.default_rng((seed, game))

        def search(position: Position, rng: np.random.Generator = rng) -> int:
            return alpha_beta.choose(position, depth, rng)

        first = game % 2 == 0
        last = play(choose, search)[-1] if first else play(search, choose)[-1]
        winner = 1 - last.stones % 2  # the seat that has moved last
        found.append(0.5 if not last.lost else float((winner == 0) == first))
    return found


def run(options: argparse.Namespace) -> None:
    """Print the curve of a run."""
    plugins.allow(GAME)
    generations = list_generations(resolve_run(options.run))
    if not generations:
        raise ConfigError(f"{options.run} has no generations yet")
    for generation in generations:
        choose = greedy(load_policy(generation.path))
        found = score_interval(scores(choose, options.depth, options.games, options.seed))
        tell(f"{generation.path.name}: {found.score:.1%} ({found.low:.1%} to {found.high:.1%})")


def main() -> int:
    command = Command("connect_four.strength", __doc__)
    command.add_argument("run", type=Path, help="folder of a run of the block")
    command.add_argument("--depth", type=int, default=4, metavar="PLIES", help="of the search (default 4)")
    command.add_argument("--games", type=int, default=200, metavar="N", help="per generation (default 200)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of the search's choices (default 0)")
    return command.execute(run)


if __name__ == "__main__":
    sys.exit(main())
