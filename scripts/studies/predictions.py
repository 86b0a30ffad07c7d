"""Check that ratings predict games that were not used to fit them; writes docs/trainer/internals/ratings.md.

Each run of docs/melee/learning.md (``scripts.studies.learning`` trains them) is rated without some pairs of its
players, drawn at random, and these pairs play then. What is finished is not repeated: figures in
docs/data/predictions.json.
"""

from __future__ import annotations

import itertools
import math
import sys
from functools import partial
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

import numpy as np

from scripts.studies import ROOT
from scripts.studies.cells import PRESET, Cell, Cells
from scripts.studies.command_line import Command
from scripts.studies.pages import measured_here, put_between, table
from scripts.studies.shipped import rate_between
from selfplay.checkpoint import RunDir, list_generations
from selfplay.cli.ppo import parse
from selfplay.commands.rate import ON_ALL_CORES
from selfplay.evaluation.players import contender
from selfplay.league.anchors import find_table
from selfplay.league.ratings import Ratings, expected_score
from selfplay.league.records import generation_number
from selfplay.league.schedule import Matchup
from selfplay.league.statistics import Z95
from selfplay.ppo.rating import play_matchups, settings_of
from selfplay.seeding import derive

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from selfplay.league.records import GameRecord

OUT: Final = ROOT / "docs" / "data" / "predictions.json"
PAIRS, GAMES, RATING_GAMES = 20, 100, 1200  # held-out pairs of a run, games of each, games for the ratings

Pair = tuple[str, str]


def predict(ratings: Ratings, pair: Pair, games: int) -> tuple[float, float, float]:
    """Expected score of the first of two players, and the 95% interval of its mean score in ``games`` games.

    The interval holds the error of the ratings and the sampling of the games; draws would make it narrower.
    """
    gap = ratings.difference(*pair)
    mean, low, high = (expected_score(elo, 0.0) for elo in (gap.rating, gap.low, gap.high))
    sampling = Z95 * math.sqrt(mean * (1.0 - mean) / games)
    return mean, max(0.0, mean - math.hypot(mean - low, sampling)), min(1.0, mean + math.hypot(high - mean, sampling))


def measure(run: RunDir, seed: int) -> Cell:
    """Rate a run without the held-out pairs, and let those play. Blocks."""
    settings = settings_of(parse([*PRESET]).config)
    players = [*(generation.id for generation in list_generations(run)), *settings.anchors]
    everyone = {name: contender(name, run, settings.rules.game) for name in players}
    rng = np.random.default_rng(derive(seed, "predictions"))
    pairs = [pair for pair in itertools.combinations(players, 2) if generation_number(pair[0]) is not None]
    held = [pairs[index] for index in rng.choice(len(pairs), PAIRS, replace=False)]

    fixed = find_table(settings.settings)
    pinned = {} if fixed is None else fixed[0].rating
    ratings = rate_between(everyone, pinned, settings, RATING_GAMES, rng, held)
    rounds = range(GAMES // settings.games_each)
    matchups = [Matchup(pair, seed=derive(seed, "held out", *pair, i)) for i in rounds for pair in held]
    played = play_matchups(matchups, everyone, settings, 0, play=ON_ALL_CORES)
    rows = []
    for pair in held:
        expected, low, high = predict(ratings, pair, GAMES)
        found = fmean(points for record in played if (points := _score(record, pair)) is not None)
        rows.append({"pair": pair, "expected": expected, "low": low, "high": high, "played": found})
    return {
        **measured_here(),
        "seed": seed,
        "rating_games": int(ratings.met.sum()) // 2,
        "pairs": rows,
    }


def _score(record: GameRecord, pair: Pair) -> float | None:
    """Score of the first of a pair; None in a game of others."""
    first, second = (seat.player for seat in record.seats)
    if {first, second} != {*pair}:
        return None
    return record.score if first == pair[0] else 1.0 - record.score


def shown(cells: Sequence[Cell]) -> str:
    """Coverage, width and error by run, and the pairs outside of their interval, in Markdown."""
    rows, outside = [], []
    for cell in cells:
        inside = [pair["low"] <= pair["played"] <= pair["high"] for pair in cell["pairs"]]
        width = median(pair["high"] - pair["low"] for pair in cell["pairs"])
        error = fmean(abs(pair["expected"] - pair["played"]) for pair in cell["pairs"])
        rows.append(
            (cell["seed"], cell["rating_games"], f"{sum(inside)} of {len(inside)}", f"{width:.1%}", f"{error:.1%}")
        )
        outside += [
            (cell["seed"], *pair["pair"], f"{pair['expected']:.1%} [{pair['low']:.1%}, {pair['high']:.1%}]",
             f"{pair['played']:.1%}")
            for pair, held in zip(cell["pairs"], inside, strict=True) if not held
        ]  # fmt: skip
    head = "seed", "rating games", "played score in the interval", "median width", "mean error"
    missed = table(("seed", "player", "opponent", "expected [95% interval]", "played"), outside)
    return f"{table(head, rows)}\n\nOutside of their interval:\n\n{missed}"


def main() -> int:
    command = Command("predictions", __doc__)
    command.add_seeds()
    command.add_runs("learning")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    for seed in options.seeds:
        run = RunDir(options.runs / f"seed_{seed}")
        Cells(OUT).make(str(seed), partial(measure, run, seed))
    write(ROOT)


def write(root: Path) -> None:
    """Write the tables below ``root`` from the finished cells."""
    cells = Cells(OUT)
    put_between(root / "docs" / "trainer/internals/ratings.md", "predictions", shown(cells.read(cells.names("*"))))


if __name__ == "__main__":
    sys.exit(main())
