"""Faults on purpose in whole runs: each is noticed and mended, and the run's end tells of all of them."""

import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.errors import ConfigError
from selfplay.runner import chaos
from tests.run.runs import ITERATION, MATRIX, rows, train

LAST = 8
SIZE = ("--timesteps", LAST * ITERATION, "--save-interval", 2, "--runners", 2)


def account(folder):
    return RunDir(folder).read_summary()["chaos"]


def lost(folder):
    return sum(told["lost"] for told in account(folder).values())


def assert_mended(folder, *kinds, last=LAST):
    told = account(folder)
    assert {kind for kind, counts in told.items() if counts["injected"]} == set(kinds)
    for kind, counts in told.items():
        assert counts["recovered"] == counts["injected"], kind
        assert counts["detected"] == counts["injected"] or kind == "slow"
    metrics = rows(folder / "metrics.jsonl")
    assert [row["iteration"] for row in metrics] == list(range(1, last + 1))
    assert all(ITERATION <= row["charts/experiences"] <= 2 * ITERATION for row in metrics)  # nothing is missing
    assert RunDir(folder).read_summary()["restarts"] == lost(folder)


def test_faults_in_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(chaos, "SLOW_S", 0.1)
    code, text = train(tmp_path / "run", *SIZE, "--chaos", "crash=0.25,nan=0.25,slow=0.25")
    assert code == 0
    assert_mended(tmp_path / "run", "crash", "nan", "slow")
    assert "run.chaos: crash=0.25,nan=0.25,slow=0.25" in text
    assert "failed: selfplay.errors.InjectedFaultError: the game crashed on purpose (--chaos); it is replaced" in text
    counts = account(tmp_path / "run")["nan"]
    assert f"{counts['injected']} injected, {counts['detected']} detected, {counts['recovered']} recovered" in text


@pytest.mark.full
def test_faults_in_processes(tmp_path):
    last, host = 4, ("--host", "process", "--collect-timeout", 6)
    size = ("--timesteps", last * ITERATION, "--runners", 2)
    code, text = train(tmp_path / "run", *size, *host, "--seed", 2, "--chaos", "hang=0.12,kill=0.2", size=MATRIX)
    assert code == 0
    assert_mended(tmp_path / "run", "hang", "kill", last=last)
    assert "exit code -9 in the middle of a segment" in text
    assert "gave no segment within 6 s and is replaced" in text


def test_the_account_goes_on_in_a_resumed_run(tmp_path):
    plan = ("--chaos", "crash=0.5")
    assert train(tmp_path / "run", *SIZE, *plan, "--timesteps", 4 * ITERATION)[0] == 0
    before = account(tmp_path / "run")["crash"]["injected"]
    assert before > 0
    assert load_latest_learner(RunDir(tmp_path / "run")).meta.extra["chaos"] == account(tmp_path / "run")
    quiet = ("--chaos", "crash=0", "--timesteps", LAST * ITERATION)
    assert train(tmp_path / "run", *quiet, resume=True)[0] == 0
    assert account(tmp_path / "run")["crash"]["injected"] == before


def test_a_run_without_faults_does_not_speak_of_them(tmp_path):
    code, text = train(tmp_path / "run", *SIZE, "--timesteps", ITERATION)
    assert code == 0
    assert account(tmp_path / "run") is None
    assert "haos" not in text


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--chaos", "kill=0.1"), "add --host process"),
        (("--chaos", "fire=0.1"), "valid kinds"),
        (("--chaos", "crash=0.1", "--deterministic"), "--chaos cannot be combined with --deterministic"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(tmp_path, flags, words):
    with pytest.raises(ConfigError, match=words):
        train(tmp_path / "run", *SIZE, *flags)
    assert not (tmp_path / "run").exists()
