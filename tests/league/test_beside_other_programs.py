"""Ratings of a match of chess engines beside those that Ordo and BayesElo gave for the same file."""

import json
from pathlib import Path

import numpy as np
import pytest

from selfplay.league import read_results
from selfplay.league.leaderboard import analyse
from selfplay.league.scale import ELO

ROOT = Path(__file__).parents[2]
DOCUMENT = json.loads((ROOT / "docs/data/stockfish_depths_ratings.json").read_text())
ORDO, ORDO_OF_COLOURS, BAYES_ELO = DOCUMENT["programs"]
ANCHOR = DOCUMENT["anchor"]


@pytest.fixture(scope="module")
def games():
    return read_results(ROOT / DOCUMENT["games"])


def maximum_likelihood(games):
    """Ratings of the logistic model in which a draw is half a win, without prior or upsets, by Newton's method."""
    size, anchor = len(games.players), games.players.index(ANCHOR)
    rows = np.arange(len(games))
    design = np.zeros((len(games), size))
    design[rows, games.seats[:, 0]], design[rows, games.seats[:, 1]] = 1.0, -1.0
    design = np.delete(design, anchor, axis=1)
    strength = np.zeros(size - 1)
    for _ in range(20):
        expected = 1.0 / (1.0 + np.exp(-design @ strength))
        curvature = design.T @ (design * (expected * (1.0 - expected))[:, None])
        strength += np.linalg.solve(curvature, design.T @ (games.scores - expected))
    return dict(zip(games.players, 1500.0 + ELO * np.insert(strength, anchor, 0.0), strict=True))


def test_ordo_s_ratings_are_the_maximum_of_its_likelihood(games):
    """So the recorded figures are of these games."""
    found = maximum_likelihood(games)
    assert found.keys() == ORDO["ratings"].keys()
    for player, (rating, _) in ORDO["ratings"].items():
        assert found[player] == pytest.approx(rating, abs=0.1)


@pytest.mark.parametrize("program", DOCUMENT["programs"], ids=lambda program: program["command"])
def test_our_intervals_hold_the_ratings_of_other_programs(games, program):
    board = analyse(games, anchor=ANCHOR).board
    assert board.games == 420
    for row in board.rows:
        rating, _ = program["ratings"][row.policy]
        assert row.low <= rating <= row.high
        limit = 20 if program is not BAYES_ELO else 90  # whose model of draws has another scale
        assert abs(row.rating - rating) < limit, row.policy


def test_errors_of_the_games_alone_are_ordo_s(games):
    """Before they are widened by the misfit, and where Ordo measures draws in place of assuming half of the games."""
    found = analyse(games, anchor=ANCHOR)
    wider = np.sqrt(found.diagnosis.misfit.excess)
    for player, (_, error) in ORDO_OF_COLOURS["ratings"].items():
        if error is not None:
            ours = 1.96 * found.ratings.se[found.ratings.index(player)] / wider
            assert ours == pytest.approx(error, rel=0.12), player


def test_the_table_of_the_page_has_these_figures(games):
    page = (ROOT / "docs/trainer/internals/ratings.md").read_text(encoding="utf-8")
    rows = {row.policy: row for row in analyse(games, anchor=ANCHOR).board.rows}
    ours = {name: (row.rating, (row.high - row.low) / 2) for name, row in rows.items()}
    for program, ratings in {"selfplay": ours, "Ordo 1.2.6": ORDO_OF_COLOURS["ratings"]}.items():
        cells = [f"{ratings[name][0]:.0f}±{ratings[name][1]:.0f}" for name in sorted(rows) if name != ANCHOR]
        assert f"| {program} | {' | '.join(cells)} |\n" in page
