import itertools

import numpy as np

from scripts.studies.payoff_ratings import measure
from tests.league.pools import payoff_tournament

CHIPS = {"random": 0.0, "raiser": 0.4} | {f"gen_{i}": 0.6 * i for i in range(5)}


def test_ratings_of_payoffs_predict_pairs_that_were_held_out():
    """The raiser wins most hands and few chips, so that its wins say little."""
    rng = np.random.default_rng(0)
    games = payoff_tournament(CHIPS, itertools.combinations(CHIPS, 2), 100, rng, noise=1.0)
    often = games.seats == games.players.index("raiser")
    games.scores[often[:, 0]], games.scores[often[:, 1]] = 1.0, 0.0
    made = measure(games, 10, rng)
    assert made["additive"]["error"] < 1.5 * made["sampling"] < made["signs"]["error"]
    assert made["additive"]["order"] > 0.95
