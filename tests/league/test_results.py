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


def test_leads_of_one_size_give_the_scores_of_their_wins():
    won = np.random.default_rng(0).random(500) < 0.3
    scores, leads = Results(), Results()
    scores.tally({"gen_0": won.astype(float).tolist()}, [])
    leads.tally({"gen_0": (4.0 * won - 2.0).tolist()}, [], leads=True)
    assert leads.score("gen_0") == pytest.approx(scores.score("gen_0"))
    assert leads.games("gen_0") == scores.games("gen_0")


def test_what_wins_most_games_and_loses_most_chips_is_hard():
    """Three wins of one chip for each loss of five, and the reverse."""
    results = Results()
    results.tally({"poor": [1.0, 1.0, 1.0, -5.0] * 50, "rich": [-1.0, -1.0, -1.0, 5.0] * 50}, [], leads=True)
    assert results.score("poor") < 0.45 < 0.55 < results.score("rich")
    assert results.score("unknown") == 0.5
    hard = results.by_difficulty(["poor", "rich"])
    assert hard[0] > hard[1]


def test_of_leads_positive_ones_move_the_quality():
    results = Results()
    results.admit(["gen_0", "gen_1", "gen_2"])
    results.tally({"gen_0": [0.25], "gen_1": [0.0, -3.0]}, ["gen_0", "gen_1", "gen_2"], leads=True)
    quality = results.state().quality
    assert quality["gen_0"] < 0.0 == quality["gen_1"] == quality["gen_2"]


def test_leads_are_part_of_the_state():
    results = Results()
    results.tally({"gen_0": [2.0, -1.0], "gen_1": [1.0]}, [], leads=True)
    again = Results(ResultsState.model_validate_json(results.state().model_dump_json()))
    assert again.score("gen_0") == results.score("gen_0") > 0.5
    again.keep(["gen_1"])
    assert again.score("gen_0") == 0.5
    assert again.state().leads.keys() == again.state().squares.keys() == {"gen_1"}
