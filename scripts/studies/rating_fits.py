"""Fit ratings of random ladders: every fit must end, at a maximum of the likelihood.

A ladder has 2 to 12 players, some of them pinned, with 0 to 3,000 games a pair, and results from coin flips to those of
players thousands of Elo apart. About 5 minutes on one core.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scripts.studies import ROOT
from scripts.studies.command_line import Command
from scripts.studies.pages import machine_here, this_command, write_json
from selfplay.league.bradley_terry import expected_scores, information, maximise, pull, score_of_gap
from selfplay.league.ratings import prior_draws
from selfplay.league.scale import ELO, Scale

if TYPE_CHECKING:
    import argparse

    from selfplay.league.games import Floats

DOCUMENT: Final = ROOT / "docs" / "data" / "rating_fits.json"
REACHED: Final = 1e-3
"""Elo that a player's own games may move it from the result of a fit that has reached a maximum."""

Ladder = tuple["Floats", "Floats", "Floats", "Floats"]  # as ``maximise`` takes them


def random_ladder(rng: np.random.Generator) -> Ladder:
    """Games, scores and virtual draws [n, n] and known strengths [n] of a random ladder."""
    size = int(rng.integers(2, 13))
    strength = rng.choice((0.0, 1.0, 3.0, 8.0)) * rng.normal(size=size)
    most = int(rng.choice((1, 2, 20, 3000)))
    games = np.triu(rng.integers(most == 1, most + 1, (size, size)), 1)
    drawn = rng.binomial(games, rng.choice((0.0, 0.3)))
    wins = rng.binomial(games - drawn, expected_scores(strength)) + 0.5 * drawn
    won = (np.triu(wins) + np.triu(games - wins).T).astype(np.float64)
    ties = prior_draws(["random", *(f"gen_{i}" for i in range(size - 1))], "random", Scale())
    known = np.where(rng.random(size) < 0.15, strength, np.nan)
    known[0] = 0.0
    return (games + games.T).astype(np.float64), won, ties, known


def left_to_go(strength: Floats, ladder: Ladder) -> float:
    """Largest distance in Elo from where a player's own games, with all others held, want it."""
    met, won, ties, known = ladder
    gap = strength[:, None] - strength[None, :]
    slope = (won - met * expected_scores(strength)) * pull(gap) + ties * (0.5 - score_of_gap(gap, 0.0))
    told = met * information(gap) + ties * information(gap, 0.0)
    free = np.isnan(known)
    return ELO * float(np.abs(slope.sum(axis=1)[free] / told.sum(axis=1)[free]).max(initial=0.0))


def document(ladders: int, seed: int) -> dict[str, Any]:
    """Counts of fits."""
    rng, reached, furthest = np.random.default_rng(seed), 0, 0.0
    for _ in range(ladders):
        ladder = random_ladder(rng)
        left = left_to_go(maximise(*ladder), ladder)
        reached, furthest = reached + (left <= REACHED), max(furthest, left)
    counts = {"ladders": ladders, "at_a_maximum": reached, "furthest_elo": furthest}
    return {"command": this_command("rating_fits", ["--write"]), **machine_here(), "seed": seed, **counts}


def main() -> int:
    """Run the command; the exit code."""
    command = Command("rating_fits", __doc__)
    command.add_argument("--ladders", type=int, default=100_000, metavar="N", help="(default: %(default)s)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of the ladders (default: %(default)s)")
    command.add_argument("--write", action="store_true", help="put the counts into docs/data")
    return command.execute(run)


def run(options: argparse.Namespace) -> int:
    """Fit, print and write; exit code 1 where a fit did not reach a maximum."""
    made = document(options.ladders, options.seed)
    print(f"{made['at_a_maximum']:,} of {made['ladders']:,} fits at a maximum, within {made['furthest_elo']:.1e} Elo")
    if options.write:
        write_json(DOCUMENT, made)
    return 0 if made["at_a_maximum"] == made["ladders"] else 1


if __name__ == "__main__":
    sys.exit(main())
