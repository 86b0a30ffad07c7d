"""Promotion in runs: who passes is what the run offers, and a resumed run goes on with the same test."""

import pytest

from selfplay import load_policy
from selfplay.checkpoint import RunDir, load_latest_learner, resolve_policy
from selfplay.cli.ppo import parse
from selfplay.errors import CheckpointError, ConfigError, NotARunError
from tests.run.runs import ITERATION, assert_equal_runs, train

RATED = ("--track-elo", "--deterministic", "--rating-share", "1", "--save-interval", "1")
GATED = (*RATED, "--gate", "sprt")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Bounds so low that everybody passes at once."""
    folder = tmp_path_factory.mktemp("gated") / "run"
    code, text = train(folder, *GATED, "--set=league.gate_bounds=-900,-100", "--timesteps", 6 * ITERATION)
    assert code == 0, text
    return RunDir(folder), text


def test_who_passes_is_best(run):
    folder, text = run
    best = folder.read_best()
    assert best is not None
    assert "league.gate_bounds: -900,-100" in text
    assert best != "gen_0"
    assert f": {best} is best now" in text
    assert load_policy(folder.path).meta.id == best
    assert load_latest_learner(folder).meta.extra["gate"]["best"].startswith("gen_")


def test_who_fails_is_not(tmp_path):
    code, text = train(tmp_path / "run", *GATED, "--set=league.gate_bounds=100,900", "--timesteps", 6 * ITERATION)
    assert code == 0, text
    assert "gen_0 stays best" in text
    assert load_policy(tmp_path / "run").meta.id == "gen_0"


def test_another_run_starts_from_the_best(run, tmp_path):
    folder, _ = run
    code, text = train(tmp_path / "next", "--pretrained", folder.path, "--timesteps", ITERATION)
    assert code == 0, text
    start = load_policy(tmp_path / "next" / "generations" / "gen_0").meta.weights_hash
    assert start == load_policy(folder.path).meta.weights_hash


@pytest.mark.parametrize("stop", [3, 4])
def test_a_resumed_run_equals_an_uninterrupted_one(run, tmp_path, stop):
    whole, _ = run
    folder = tmp_path / "run"
    train(folder, *GATED, "--set=league.gate_bounds=-900,-100", "--timesteps", stop * ITERATION)
    code, text = train(folder, "--timesteps", 6 * ITERATION, resume=True)
    assert code == 0, text
    assert_equal_runs(whole.path, folder, generations=[f"gen_{i}" for i in range(7)])
    assert (folder / "best.json").read_bytes() == whole.best_json.read_bytes()


def test_a_run_keeps_its_gate(run):
    folder, _ = run
    with pytest.raises(ConfigError, match="--gate is none, but"):
        train(folder.path, "--gate", "none", resume=True)


@pytest.mark.parametrize("text", ['{"best": "../x"}', '{"best": 3}', "{}"])
def test_what_is_no_best_is_refused(text, run, tmp_path):
    folder = RunDir(tmp_path)
    folder.write_run({})
    folder.best_json.write_text(text)
    with pytest.raises(CheckpointError, match=r"best\.json"):
        resolve_policy(tmp_path)


def test_a_best_that_is_gone_is_named(tmp_path):
    RunDir(tmp_path).write_best({"best": "gen_7"})
    with pytest.raises(NotARunError, match="gen_7"):
        resolve_policy(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--gate", "elo", "--track-elo"), "--gate"),
        (("--gate", "sprt", "--track-elo", "--set", "league.gate_bounds=30,0"), "below the Elo to accept"),
        (("--gate", "sprt", "--track-elo", "--set", "league.gate_bounds=30"), "--set league.gate_bounds"),
    ],
)
def test_what_cannot_be_is_said(arguments, message):
    with pytest.raises(ConfigError, match=message):
        parse(["--game-type", "mock", *arguments])


def test_a_gate_needs_games_that_one_player_wins(tmp_path):
    flags = ("--gate", "sprt", "--track-elo", "--game-type", "tests.games.games:Meeting")
    with pytest.raises(ConfigError, match="share a reward, so no game shows which of two is better"):
        train(tmp_path / "run", *flags, size=())
    assert not (tmp_path / "run").exists()


def test_a_gate_needs_rating_games(tmp_path):
    with pytest.raises(ConfigError, match="add --track-elo"):
        train(tmp_path / "run", "--gate", "sprt")
    assert not (tmp_path / "run").exists()
