import pytest

from selfplay.league.games import GameTable
from selfplay.league.ratings import k_factor, sequential_elo
from tests.league.pools import series


def elo(*results, **options):
    return sequential_elo(GameTable.of(series(results)), **options)


def test_a_win_between_equals_moves_each_by_half_its_k():
    assert elo(("gen_1", "gen_2", "win")) == {"gen_1": 1520.0, "gen_2": 1480.0}


def test_thirty_draws_between_equals_move_nobody():
    assert elo(*[("gen_1", "gen_2", "draw")] * 30) == {"gen_1": 1500.0, "gen_2": 1500.0}


def test_an_upset_moves_more_than_an_expected_win():
    first = [("gen_1", "gen_2", "win")] * 5
    before, expected, upset = (
        elo(*first),
        elo(*first, ("gen_1", "gen_2", "win")),
        elo(*first, ("gen_1", "gen_2", "loss")),
    )
    assert before["gen_1"] - upset["gen_1"] > expected["gen_1"] - before["gen_1"] > 0


def test_the_anchor_stays_where_all_runs_have_it():
    assert elo(("gen_1", "random", "win"))["random"] == 1500.0
    assert elo(("gen_1", "random", "win"), anchor=None)["random"] == 1480.0


@pytest.mark.parametrize(("games", "k"), [(0, 40), (29, 40), (30, 32), (99, 32), (100, 24), (5000, 24)])
def test_k_falls_with_games(games, k):
    assert k_factor(games) == k


def test_it_depends_on_the_order_as_its_description_says():
    results = [("gen_1", "gen_2", "win")] * 20 + [("gen_2", "gen_1", "win")] * 20
    assert elo(*results)["gen_1"] < 1490.0 < 1510.0 < elo(*reversed(results))["gen_1"]
