"""Runs with more than one learner, with external opponents, and with more generations than they keep."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from selfplay.checkpoint import RunDir, list_generations, load_latest_learner
from selfplay.errors import ConfigError
from selfplay.league.matchmaker import Matchmaker
from selfplay.ppo.agents import WINS, Agent, worst
from tests.run.runs import ITERATION, assert_equal_runs, hashes, rows, train

LEAGUE = ("--mode", "league", "--save-interval", 1, "--runners", 4, "--set", "league.patience=2")


def steps(iterations):
    return ("--timesteps", iterations * ITERATION)


def names(folder):
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")} if folder.exists() else set()


def met(folder):
    return {
        key.removeprefix("opponents/")
        for row in rows(folder / "metrics.jsonl")
        for key in row
        if key.startswith("opponents/")
    }


@pytest.fixture(scope="module")
def league(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "league"
    code, text = train(folder, *LEAGUE, *steps(9), "--deterministic")
    assert code == 0
    return folder, text


@pytest.mark.full
def test_exploiters_join_the_league_and_the_main_agent_meets_them(league):
    folder, text = league
    exploiters = names(RunDir(folder).exploiters)
    assert {"main_exploiter_2", "league_exploiter_2"} <= exploiters
    assert "main_exploiter_2 joins the league" in text
    assert "starts over" in text
    assert exploiters & met(folder)
    assert {g.id for g in list_generations(RunDir(folder))} == {f"gen_{i}" for i in range(10)}


def test_metrics_say_how_the_exploiters_do(league):
    folder, _ = league
    tags = {key for row in rows(folder / "metrics.jsonl") for key in row}
    assert {"league/main_exploiter", "league/league_exploiter"} <= tags
    assert "opponents/main" not in tags  # those are the main agent's


def test_a_resumed_league_equals_an_uninterrupted_one(league, tmp_path):
    whole, _ = league
    folder = tmp_path / "run"
    assert train(folder, *LEAGUE, *steps(5), "--deterministic")[0] == 0
    assert train(folder, *steps(9), resume=True)[0] == 0
    assert_equal_runs(whole, folder, generations=[f"gen_{i}" for i in range(10)])
    first, second = (load_latest_learner(RunDir(path)).meta.extra for path in (whole, folder))
    assert {k: v for k, v in first.items() if k != "restarts"} == {k: v for k, v in second.items() if k != "restarts"}
    assert any(name.startswith("main_exploiter/params/") for name in load_latest_learner(RunDir(folder)).arrays)


@pytest.mark.parametrize("options", [("--runners", 2), ("--runners", 3), ("--num-games", 3, "--runners", 0)])
def test_a_league_needs_games_for_everybody(tmp_path, options):
    with pytest.raises(ConfigError, match="trains 3 learners"):
        train(tmp_path / "run", *LEAGUE, *steps(1), *options)
    assert not (tmp_path / "run").exists()


def test_an_exploiter_has_won_before_the_generation_that_it_never_met():
    maker = Matchmaker("league_exploiter", np.random.default_rng(0))
    maker.set_pool(["gen_0", "gen_1"])
    maker.record({"gen_0": [1.0] * 100, "gen_1": [1.0] * 90 + [0.0] * 10})
    archive = SimpleNamespace(generations=["gen_0", "gen_1"], exploiters=[])
    hardest = worst(Agent("league_exploiter", None, maker), archive)
    assert (hardest.name, hardest.games) == ("gen_1", 100)
    assert WINS < hardest.score < 0.9
    assert str(hardest).startswith("scores 88% against gen_1")
    unmet = worst(Agent("main_exploiter", None, Matchmaker("main_exploiter", np.random.default_rng(0))), archive)
    assert str(unmet) == "has not played against the main agent yet"


@pytest.mark.full
def test_exploiters_of_a_pretrained_run_need_it_no_more(other, tmp_path):
    source, folder = tmp_path / "source", tmp_path / "run"
    shutil.copytree(other, source)
    assert train(folder, *LEAGUE, *steps(2), "--pretrained", source)[0] == 0
    shutil.rmtree(source)
    code, text = train(folder, *steps(5), resume=True)
    assert code == 0
    assert "starts over" in text


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A run to take opponents from."""
    folder = tmp_path_factory.mktemp("runs") / "other"
    assert train(folder, *steps(2), "--save-interval", 1, "--seed", 5)[0] == 0
    return folder


def test_external_opponents_are_met_and_copied_once(other, tmp_path):
    folder = tmp_path / "run"
    named = f"{other},{other / 'generations' / 'gen_2'},{other / 'generations' / 'gen_0'}"
    code, _ = train(folder, *steps(3), "--opponent", named, "--set", "league.opponent_share=1")
    assert code == 0
    assert names(RunDir(folder).external_opponents) == {"external.other.gen_2", "external.other.gen_0"}
    assert met(folder) == {"external.other.gen_2", "external.other.gen_0"}


def test_a_run_with_external_opponents_stands_on_its_own(other, tmp_path):
    source, folder = tmp_path / "source", tmp_path / "run"
    shutil.copytree(other, source)
    assert train(folder, *steps(2), "--mode", "opponents", "--opponent", source, "--save-interval", 1)[0] == 0
    shutil.rmtree(source)
    assert train(folder, *steps(4), resume=True)[0] == 0
    assert met(folder) == {"external.source.gen_2"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--frame-skip", 2), "was made with --frame-skip 4, this run has 2"),
        (("--delay", 3), "was made with --delay 0, this run has 3"),
    ],
)
def test_external_opponents_that_play_at_another_pace_are_refused(other, tmp_path, options, message):
    with pytest.raises(ConfigError, match=message):
        train(tmp_path / "run", *steps(1), "--opponent", other, *options)
    assert not (tmp_path / "run").exists()


def test_opponents_alone_needs_one(tmp_path):
    with pytest.raises(ConfigError, match="name at least one"):
        train(tmp_path / "run", *steps(1), "--mode", "opponents")


@pytest.mark.parametrize("rated", [(), ("--track-elo", "--rating-share", "1", "--deterministic")])
def test_a_long_history_is_thinned_on_disk_too(tmp_path, rated):
    folder = tmp_path / "run"
    few = ("--save-interval", 1, "--set", "league.population=4", *rated)
    assert train(folder, *few, *steps(9))[0] == 0
    assert train(folder, *steps(12), resume=True)[0] == 0
    state = load_latest_learner(RunDir(folder))
    kept = state.meta.generations
    assert len(kept) <= 4 + 4  # those that games in progress need may stay longer
    assert {"gen_0", "gen_12"} <= set(kept)
    there = set(hashes(folder))
    assert set(kept) <= there
    assert there - set(kept) <= set(state.meta.extra["leaving"])
    assert len(there) < 12


def test_a_generation_that_is_gone_from_the_disk_is_not_met_again(tmp_path):
    folder = tmp_path / "run"
    assert train(folder, "--mode", "delta_uniform", "--save-interval", 1, *steps(4))[0] == 0
    shutil.rmtree(folder / "generations" / "gen_2")
    code, text = train(folder, *steps(8), resume=True)
    assert code == 0
    assert "gen_2" not in {name for row in rows(folder / "metrics.jsonl")[4:] for name in row}
    assert "failed" not in text


def test_what_is_known_of_ratings_outlives_a_session_without_them(tmp_path):
    folder = tmp_path / "run"
    rated = ("--track-elo", "--rating-share", "1", "--deterministic", "--save-interval", 2)
    assert train(folder, *rated, *steps(8))[0] == 0
    before = (folder / "ledger.jsonl").read_text()
    assert before
    position = load_latest_learner(RunDir(folder)).meta.ledger_position
    assert position > 0
    assert train(folder, "--no-track-elo", *steps(10), resume=True)[0] == 0
    state = load_latest_learner(RunDir(folder)).meta
    assert state.ledger_position == position
    assert state.extra["rating_spent"] > 0
    assert train(folder, "--track-elo", *steps(12), resume=True)[0] == 0
    kept = "".join(before.splitlines(keepends=True)[:position])
    assert (folder / "ledger.jsonl").read_text().startswith(kept)


def test_a_gate_cannot_be_resumed_without_ratings(tmp_path):
    folder = tmp_path / "run"
    assert train(folder, "--track-elo", "--gate", "sprt", *steps(2))[0] == 0
    with pytest.raises(ConfigError, match="add --track-elo"):
        train(folder, "--no-track-elo", *steps(3), resume=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--set", "league.opponent_share=0.5"), "name at least one"),
        (("--set", "league.opponent_share=0.5", "--mode", "opponents", "--opponent", "x"), "has no effect"),
    ],
)
def test_a_share_without_effect_is_refused(tmp_path, options, message):
    with pytest.raises(ConfigError, match=message):
        train(tmp_path / "run", *steps(1), *options)
