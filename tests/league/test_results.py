import numpy as np
import pytest

from selfplay.league.results import MEMORY, Results, ResultsState


def test_scores_are_shrunk_towards_one_half():
    results = Results()
    assert results.score("gen_0") == 0.5
    results.add("gen_0", 1.0)
    assert results.score("gen_0") == pytest.approx(3 / 5)
    for _ in range(2000):
        results.add("gen_0", 1.0)
    assert results.score("gen_0") > 0.98


def test_old_results_fade():
    results = Results()
    for _ in range(1000):
        results.add("gen_0", 1.0)
    for _ in range(int(2 * MEMORY)):
        results.add("gen_0", 0.0)
    assert results.score("gen_0") < 0.2


def test_chances_sum_to_one_and_are_even_without_results():
    players = ["gen_0", "gen_1", "gen_2"]
    results = Results()
    results.admit(players)
    for chances in (results.by_quality(players), results.by_difficulty(players), results.by_variance(players)):
        np.testing.assert_allclose(chances, 1 / 3)


def test_the_chances_are_the_papers():
    results = Results(ResultsState(games={"a": 96.0, "b": 96.0}, points={"a": 73.0, "b": 23.0}))
    assert (results.score("a"), results.score("b")) == (0.75, 0.25)
    np.testing.assert_allclose(results.by_difficulty(["a", "b"]), [0.1, 0.9])  # 0.25^2 to 0.75^2
    np.testing.assert_allclose(results.by_variance(["a", "b"]), [0.5, 0.5])
    results = Results(ResultsState(quality={"a": 0.0, "b": np.log(3.0)}))
    np.testing.assert_allclose(results.by_quality(["a", "b"]), [0.25, 0.75])
    results.beaten("a", ["a", "b"])
    assert results.state().quality["a"] == pytest.approx(-0.01 / (2 * 0.25))


def test_only_wins_move_the_quality():
    results = Results()
    results.admit(["gen_0", "gen_1"])
    results.tally({"gen_0": [0.5, 0.0], "rusher": [1.0]}, ["gen_0", "gen_1"])
    assert results.state().quality == {"gen_0": 0.0, "gen_1": 0.0}
    assert results.score("rusher") > 0.5
