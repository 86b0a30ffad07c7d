import numpy as np
import pytest

from selfplay.errors import LeagueError
from selfplay.league.payoffs import leads_of, payoff_interval, root_mean_square, score_of_leads, sprt_of_payoffs
from selfplay.league.ratings import expected_score
from selfplay.league.sprt import SprtBounds, sprt
from selfplay.league.statistics import Z95, mean_error


def draw(chances, payoffs, elo, shape, rng):
    """Payoffs of these chances, shifted so that their expectation is that of ``elo`` normalised Elo."""
    payoffs = np.array(payoffs)
    centred = payoffs - np.dot(chances, payoffs)
    effect = 2 * expected_score(elo, 0.0) - 1
    deviation = np.sqrt(np.dot(chances, centred**2))
    shift = effect * deviation / np.sqrt(1 - effect**2)  # the root mean square includes the shift
    return rng.choice(centred, size=shape, p=chances) + shift


GAMES = {
    "coin": ([0.5, 0.5], [1.0, -1.0]),
    "poker": ([0.2, 0.3, 0.1, 0.25, 0.15], [13.0, 1.0, 0.0, -1.0, -13.0]),
    "rare loss": ([0.9, 0.1], [1.0, -9.0]),
    "rare win": ([0.9, 0.1], [-1.0, 9.0]),
}


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(("elo", "wrong"), [(0.0, "accepted"), (30.0, "rejected")])
def test_the_sequential_test_errs_as_seldom_as_it_says(game, elo, wrong):
    rng, errors = np.random.default_rng(3), 0
    for _ in range(150):
        payoffs = draw(*GAMES[game], elo, (3000, 2), rng)
        for pairs in range(20, 3001, 40):
            test = sprt_of_payoffs(payoffs[:pairs].ravel(), np.repeat(np.arange(pairs), 2))
            if test.state != "open":
                break
        assert test.state != "open"
        errors += test.state == wrong
    assert errors / 150 <= 0.1  # 5%, and three standard errors


@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_games_that_pay_one_size_are_tested_by_their_scores(unit):
    scores, pairs = (np.random.default_rng(1).random(400) < 0.55).astype(float), np.repeat(np.arange(200), 2)
    bounds = SprtBounds(5.0, 40.0)
    found, same = sprt_of_payoffs(unit * (2 * scores - 1), pairs, bounds), sprt(scores, pairs, bounds)
    assert found.llr == pytest.approx(same.llr)
    assert (found.state, found.pairs) == (same.state, same.pairs)


def test_a_few_equal_payoffs_settle_nothing():
    assert sprt_of_payoffs([5.0] * 4, [0, 0, 1, 1]).state == "open"
    assert sprt_of_payoffs([0.0] * 4).llr < 0.0
    assert sprt_of_payoffs([]).state == "open"


def test_an_interval_holds_the_mean_as_often_as_it_says():
    """Games of one seed share luck."""
    rng, missed, above = np.random.default_rng(0), 0, []
    for _ in range(400):
        luck = np.repeat(rng.normal(size=40), 2)
        found = payoff_interval(luck + 3.0 * rng.standard_t(5, 80), np.repeat(np.arange(40), 2))
        missed += not found.low <= 0.0 <= found.high
        above.append(found.superiority)
        assert (found.low > 0.0) == (found.superiority > 0.975)
    assert 0.02 < missed / 400 < 0.08
    assert np.quantile(above, [0.25, 0.75]) == pytest.approx([0.25, 0.75], abs=0.06)


def test_of_many_seeds_the_interval_is_that_between_seeds():
    rng = np.random.default_rng(2)
    payoffs, seeds = rng.normal(2.0, 3.0, 4000), np.repeat(np.arange(2000), 2)
    found = payoff_interval(payoffs, seeds)
    assert found.mean == pytest.approx(payoffs.mean())
    assert found.high - found.mean == pytest.approx(mean_error(payoffs, seeds), rel=0.01)


def test_one_seed_tells_little():
    found = payoff_interval([1.0, 1.0], [7, 7])
    assert found.low < 0.0 < found.mean == 1.0
    assert found.superiority == pytest.approx(0.5 * (1 + np.tanh(0.8 * Z95)), abs=0.08)
    assert payoff_interval([0.0, 0.0]).superiority == 0.5


@pytest.mark.parametrize("payoffs", [[], [1.0, float("nan")]])
def test_an_interval_needs_games(payoffs):
    with pytest.raises(LeagueError, match="at least one game, and finite payoffs"):
        payoff_interval(payoffs)


def test_the_score_of_leads_is_the_share_of_wins_where_all_pay_one():
    leads = np.array([1.0, 1.0, 1.0, -1.0])
    assert score_of_leads(leads.sum(), np.square(leads).sum(), 4) == 0.75
    assert score_of_leads(0.0, 0.0, 4) == 0.5  # nothing was paid
    rare = np.array([1.0, 1.0, 1.0, -5.0])  # wins most games and loses most chips
    assert score_of_leads(rare.sum(), np.square(rare).sum(), 4) == pytest.approx(0.5 - 0.5 * 0.5 / np.sqrt(7))


def test_leads_are_half_the_difference():
    assert leads_of([[3.0, -3.0], [4.0, 1.0]]).tolist() == [3.0, 1.5]
    assert root_mean_square([3.0, -4.0]) == np.sqrt(12.5)
    assert root_mean_square([]) == 0.0
