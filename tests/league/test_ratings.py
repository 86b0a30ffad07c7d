import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfplay.errors import LeagueError
from selfplay.league.bradley_terry import UPSETS
from selfplay.league.games import GameTable
from selfplay.league.ratings import elo_of_score, expected_score, rate
from tests.league.pools import record, series, tournament

LADDER = {"random": 1500.0, "rusher": 1580.0, "tank": 1690.0} | {f"gen_{i}": 1520.0 + 45.0 * i for i in range(7)}
EVERYBODY = tuple(itertools.combinations(LADDER, 2))


def meet(a: str, b: str, wins: int, losses: int = 0, draws: int = 0):
    return [(a, b, "win")] * wins + [(a, b, "loss")] * losses + [(a, b, "draw")] * draws


def rated(*results):
    return rate(GameTable.of(series(itertools.chain(*results))))


@pytest.mark.parametrize("rounds", [1, 15])
@pytest.mark.parametrize("draws", [0.0, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("luck", [0.0, 0.7])
def test_intervals_hold_the_true_strengths_as_often_as_they_say(draws, luck, rounds):
    """With draws (for which the plain model is far too unsure) and with pairs that share luck (far too sure)."""
    rng = np.random.default_rng(11)
    truth = np.array(list(LADDER.values()))
    inside, differences = [], []
    for _ in range(60):
        ratings = rate(tournament(LADDER, EVERYBODY, rounds, rng, draws, luck))
        inside.append(((ratings.low <= truth) & (truth <= ratings.high))[1:].mean())
        gap = ratings.difference("gen_6", "gen_5")
        differences.append(gap.low <= 45.0 <= gap.high)
    assert 0.92 <= np.mean(inside) <= 0.995
    assert np.mean(differences) >= 0.88


def test_draws_and_games_narrow_the_intervals():
    def width(draws: float, rounds: int) -> float:
        ratings = rate(tournament(LADDER, EVERYBODY, rounds, np.random.default_rng(2), draws))
        return float(ratings.se[1:].mean())

    assert width(0.9, 20) < 0.75 * width(0.0, 20)
    assert width(0.0, 40) == pytest.approx(width(0.0, 10) / 2, rel=0.15)


def test_strengths_are_found():
    ratings = rate(tournament(LADDER, EVERYBODY, 2000, np.random.default_rng(5)))
    assert ratings.players == tuple(LADDER)
    np.testing.assert_allclose(ratings.rating, list(LADDER.values()), atol=20)


@given(st.permutations(range(60)))
@settings(max_examples=20)
def test_the_order_of_the_games_does_not_matter(order):
    pairs = [("gen_1" if i % 3 else "rusher", "gen_2" if i % 4 else "random") for i in range(30)]
    games = GameTable.of(record(*pairs[i // 2][:: 1 - 2 * (i % 2)], (i % 5, i % 2), seed=i // 2) for i in range(60))
    base, shuffled = rate(games), rate(games.take(np.array(order)))
    np.testing.assert_array_equal(shuffled.rating, base.rating)
    np.testing.assert_allclose(shuffled.cov, base.cov, rtol=1e-9, atol=1e-9)


def test_swapping_the_seats_of_every_game_changes_nothing():
    games = tournament(LADDER, EVERYBODY, 3, np.random.default_rng(3), 0.3)
    swapped = GameTable(
        games.players,
        games.groups,
        games.seats[:, ::-1],
        games.versions,
        1.0 - games.scores,
        games.pairs,
        games.group,
    )
    np.testing.assert_array_equal(rate(swapped).rating, rate(games).rating)
    np.testing.assert_allclose(rate(swapped).cov, rate(games).cov)


def test_the_anchor_is_fixed_and_certain():
    ratings = rated(meet("random", "gen_0", 1, 19), meet("gen_1", "gen_0", 7, 2))
    anchor = ratings.index("random")
    assert ratings.rating[anchor] == ratings.low[anchor] == ratings.high[anchor] == 1500.0
    assert not ratings.cov[anchor].any()


def test_thirty_draws_leave_equals_equal_and_say_how_sure_that_is():
    """The predecessor showed 1500 and 1500 here without saying what it knows."""
    ratings = rated(meet("gen_0", "random", 0, 0, 30))
    assert ratings.rating[ratings.index("gen_0")] == pytest.approx(1500.0, abs=1e-9)
    assert 5.0 < ratings.se[ratings.index("gen_0")] < 40.0


def test_ten_wins_count_for_the_one_and_against_the_other():
    """The predecessor looked its own ten wins up under another spelling of the id and found none."""
    ratings = rated(meet("gen_5", "gen_0", 10))
    five, zero = ratings.index("gen_5"), ratings.index("gen_0")
    assert ratings.won[five, zero] == 10
    assert ratings.won[zero, five] == 0
    assert ratings.met[five, zero] == ratings.met[zero, five] == 10
    assert ratings.rating[five] > ratings.rating[zero] + 400.0


@pytest.mark.parametrize("games", [2, 10, 200, 2000])
def test_a_perfect_score_is_finite_grows_and_stays_unsure(games):
    ratings = rated(meet("gen_1", "random", games))
    strong = ratings.index("gen_1")
    # One virtual draw: the score counts as (games + 1/2) / (games + 1); upsets take two points.
    assert ratings.rating[strong] == pytest.approx(1500.0 + 400.0 * math.log10(2 * games + 1), abs=2.0)
    assert ratings.se[strong] > 100.0
    assert ratings.floor[strong]
    assert not ratings.ceiling[strong]


def test_a_lopsided_but_bounded_score_has_both_bounds():
    ratings = rated(meet("gen_1", "random", 99, 1), meet("gen_0", "random", 0, 9))
    assert ratings.floor[ratings.index("gen_1")]
    assert ratings.ceiling[ratings.index("gen_1")]
    assert not ratings.floor[ratings.index("gen_0")]
    assert ratings.ceiling[ratings.index("gen_0")]


def test_islands_are_told_apart():
    ratings = rated(meet("gen_1", "random", 3, 2), meet("gen_7", "gen_8", 3, 2), meet("tank", "rusher", 1, 1))
    assert ratings.components() == (("random", "gen_1"), ("rusher", "tank"), ("gen_7", "gen_8"))
    assert np.isfinite(ratings.rating).all()
    assert ratings.se[ratings.index("gen_8")] > 2 * ratings.se[ratings.index("gen_1")]


def test_those_who_have_not_played_are_rated_by_the_prior():
    ratings = rate(GameTable.of(series(meet("gen_0", "random", 9, 1))), players=["gen_4", "rusher"])
    assert ratings.rating[ratings.index("gen_4")] == pytest.approx(ratings.rating[ratings.index("gen_0")])
    assert ratings.rating[ratings.index("rusher")] == pytest.approx(1500.0)
    assert ratings.se[ratings.index("gen_4")] > 300.0


def test_the_prior_weighs_nothing_beside_real_games():
    ratings = rated(meet("gen_1", "random", 300, 100))
    assert ratings.rating[ratings.index("gen_1")] == pytest.approx(1500.0 + elo_of_score(0.75), abs=1.0)


def test_an_empty_ledger_rates_the_anchor_alone():
    ratings = rate(GameTable.of([]))
    assert ratings.players == ("random",)
    assert ratings.rating.tolist() == [1500.0]


def test_a_seed_counts_once_however_many_games_were_played_on_it():
    """Games that go alike because they share a seed are one observation, not four."""
    results = [(4, 0)] * 30 + [(0, 4)] * 20
    apart = [record("gen_1", "random", stocks, seed=i) for i, stocks in enumerate(results)]
    copies = [
        record("gen_1", "random", stocks, seed=i, iteration=3, settings="abc", round=0).model_copy(
            update={"match": f"{i:016x}-{copy:08x}"}
        )
        for i, stocks in enumerate(results)
        for copy in range(4)
    ]
    one, four = rate(GameTable.of(apart)), rate(GameTable.of(copies))
    assert four.se[1] == pytest.approx(one.se[1], rel=0.05)


def test_differences_use_what_two_players_share():
    """Both far from the anchor and unsure against it, but well known against each other."""
    ratings = rated(meet("gen_1", "random", 19, 1), meet("gen_2", "gen_1", 260, 140))
    gap = ratings.difference("gen_2", "gen_1")
    assert gap.low < gap.rating < gap.high
    assert gap.high - gap.low < 0.4 * (ratings.high - ratings.low)[ratings.index("gen_2")]
    assert gap.superiority > 0.99
    back = ratings.difference("gen_1", "gen_2")
    assert (back.rating, back.superiority) == (pytest.approx(-gap.rating), pytest.approx(1.0 - gap.superiority))
    assert ratings.difference("gen_1", "gen_1").superiority == 0.5


def test_settings_never_mix():
    old = [record("gen_1", "random", settings="other", seed=i) for i in range(9)]
    games = GameTable.of([*old, record("random", "gen_1")])
    assert rate(games).met.sum() == 2
    assert rate(games, settings="other").met.sum() == 18
    assert rate(games).rating[1] < 1500.0 < rate(games, settings="other").rating[1]
    with pytest.raises(LeagueError, match="no game was played under the settings 'third'"):
        rate(games, settings="third")


def test_an_unrated_player_is_named():
    with pytest.raises(LeagueError, match=r"'gen_9' has no rating \(rated: random\)"):
        rate(GameTable.of([])).index("gen_9")


def test_expected_scores():
    assert expected_score(1500, 1500) == 0.5
    assert expected_score(1900, 1500) == pytest.approx(UPSETS / 2 + (1 - UPSETS) * 10 / 11)
    assert elo_of_score(expected_score(1900, 1500)) == pytest.approx(400)
    assert elo_of_score(0.999) is None
    assert expected_score(1600, 1500) + expected_score(1500, 1600) == pytest.approx(1.0)


def test_generations_that_only_met_their_elders_are_less_certain_than_in_a_round_robin():
    chain = list(itertools.pairwise(LADDER))
    rng = np.random.default_rng(4)
    far = rate(tournament(LADDER, chain, 45, rng)).se[-1]
    near = rate(tournament(LADDER, EVERYBODY, 9, rng)).se[-1]
    assert far > 1.5 * near
