import numpy as np
import pytest

from selfplay.league.games import GameTable
from selfplay.league.nash import equilibrium, nash_weights
from selfplay.league.ratings import rate
from tests.league.pools import series


def test_known_equilibria():
    rps = np.array([[0, -1, 2], [1, 0, -1], [-2, 1, 0.0]])
    np.testing.assert_allclose(equilibrium(rps), [0.25, 0.5, 0.25], atol=2e-3)
    ladder = np.array([[0, -0.1, -0.3], [0.1, 0, -0.2], [0.3, 0.2, 0]])
    np.testing.assert_allclose(equilibrium(ladder), [0, 0, 1], atol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_nobody_beats_the_mixture(seed):
    noise = np.random.default_rng(seed).normal(size=(30, 30))
    payoff = noise - noise.T
    assert (payoff @ equilibrium(payoff)).max() < 1e-3


def test_copies_of_a_style_share_its_weight():
    """Rock twice, paper and scissors: a third each, however often rock is there."""
    names = ("random", "gen_0", "gen_1", "gen_2")  # rock, rock, paper, scissors
    beats = {("gen_1", "random"), ("gen_1", "gen_0"), ("random", "gen_2"), ("gen_0", "gen_2"), ("gen_2", "gen_1")}
    results = [(a, b, "win") for a, b in beats for _ in range(300)] + [("random", "gen_0", "draw")] * 300
    ratings = rate(GameTable.of(series(results)))
    weights = dict(zip(ratings.players, nash_weights(ratings), strict=True))
    assert set(weights) == set(names)
    assert weights["random"] + weights["gen_0"] == pytest.approx(1 / 3, abs=0.03)
    assert weights["gen_1"] == pytest.approx(1 / 3, abs=0.03)
    assert sum(weights.values()) == pytest.approx(1.0)
