import pytest

from selfplay.league.games import GameTable
from selfplay.league.schedule import GAMES_PER_RESULT, results, scores_against
from tests.league.pools import series

SCRIPTED = ("random", "walker", "rusher")  # the weakest first


def met(*rows):
    """Games as (generation, scripted player, games won, games lost)."""
    games = [(a, b, "win") for a, b, won, _ in rows for _ in range(won)]
    return GameTable.of(series(games + [(a, b, "loss") for a, b, _, lost in rows for _ in range(lost)]))


def test_the_newest_generations_count_as_few_as_have_enough_games():
    games = met(("gen_20", "walker", 0, 10), ("gen_30", "walker", 8, 2), ("gen_40", "walker", 10, 0))
    points, pairs = results(games, "walker", since=0)
    assert len(points) == len(pairs) == 20
    assert points.mean() == pytest.approx(0.9)
    assert len(results(games, "walker", since=40)[0]) == 10
    assert len(results(games, "rusher", since=0)[0]) == 0


def test_games_of_both_seats_count_for_the_generation():
    games = GameTable.of(
        series([("gen_40", "walker", "win"), ("walker", "gen_40", "loss"), ("random", "walker", "win")])
    )
    assert results(games, "walker", since=0)[0].tolist() == [1.0, 1.0]


def test_scores_are_of_the_newest_generations_with_enough_games():
    games = met(
        ("gen_10", "random", 0, 30),
        ("gen_10", "idler", 0, 30),  # too long ago
        ("gen_20", "random", 15, 1),
        ("gen_20", "rusher", 4, 12),
        ("gen_40", "walker", 10, 0),  # too few
    )
    found = scores_against(games, ("idler", *SCRIPTED))
    assert list(found) == ["rusher", "random"], "the strongest first"
    count, score, low, high = found["random"]
    assert count == GAMES_PER_RESULT
    assert score == pytest.approx(15 / 16)
    assert low < 0.9 < 0.94 < high
