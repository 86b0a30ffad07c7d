"""Runs with more than one learner, with guests, and with more generations than they keep."""

import shutil

import pytest

from selfplay.checkpoint import RunDir, list_generations, load_latest_learner
from selfplay.errors import ConfigError
from tests.trainer.runs import ITERATION, assert_equal_runs, hashes, rows, train

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


def test_exploiters_join_the_league_and_the_main_agent_meets_them(league):
    folder, text = league
    exploiters = names(RunDir(folder).exploiters)
    assert {"main_exploiter_2", "league_exploiter_2"} <= exploiters
    assert "main_exploiter_2 joins the league" in text
    assert "begins anew" in text
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


@pytest.mark.parametrize("options", [("--runners", 2), ("--num-games", 2, "--runners", 0)])
def test_a_league_needs_games_for_everybody(tmp_path, options):
    with pytest.raises(ConfigError, match="trains 3 learners"):
        train(tmp_path / "run", *LEAGUE, *steps(1), *options)
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A run to take opponents from."""
    folder = tmp_path_factory.mktemp("runs") / "other"
    assert train(folder, *steps(2), "--save-interval", 1, "--seed", 5)[0] == 0
    return folder


def test_guests_are_met_and_copied_once(other, tmp_path):
    folder = tmp_path / "run"
    named = f"{other},{other / 'generations' / 'gen_2'},{other / 'generations' / 'gen_0'}"
    code, _ = train(folder, *steps(3), "--opponent", named, "--opponent-share", 1)
    assert code == 0
    assert names(RunDir(folder).guests) == {"guest.other.gen_2", "guest.other.gen_0"}
    assert met(folder) == {"guest.other.gen_2", "guest.other.gen_0"}


def test_a_run_with_guests_stands_on_its_own(other, tmp_path):
    source, folder = tmp_path / "source", tmp_path / "run"
    shutil.copytree(other, source)
    assert train(folder, *steps(2), "--mode", "opponents", "--opponent", source, "--save-interval", 1)[0] == 0
    shutil.rmtree(source)
    assert train(folder, *steps(4), resume=True)[0] == 0
    assert met(folder) == {"guest.source.gen_2"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--frame-skip", 2), "was made with --frame-skip 4, this run has 2"),
        (("--delay", 3), "was made with --delay 0, this run has 3"),
    ],
)
def test_guests_that_play_at_another_pace_are_refused(other, tmp_path, options, message):
    with pytest.raises(ConfigError, match=message):
        train(tmp_path / "run", *steps(1), "--opponent", other, *options)
    assert not (tmp_path / "run").exists()


def test_opponents_alone_needs_one(tmp_path):
    with pytest.raises(ConfigError, match="name at least one"):
        train(tmp_path / "run", *steps(1), "--mode", "opponents")


@pytest.mark.parametrize("rated", [(), ("--track-elo", "--rating-share", "1", "--deterministic")])
def test_a_long_history_is_thinned_on_disk_too(tmp_path, rated):
    folder = tmp_path / "run"
    few = ("--save-interval", 1, "--population", 4, *rated)
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
