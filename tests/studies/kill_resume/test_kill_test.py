"""Four kills of real runs in processes of their own; scripts/studies/kill_resume does as many as one likes."""

import json

import pytest

from scripts.studies.kill_resume import __main__ as command
from scripts.studies.kill_resume import kill_test, page
from scripts.studies.kill_resume.kill_test import KillTest, KillTestResult, run_kill_test
from selfplay.errors import ConfigError


@pytest.fixture(autouse=True)
def _sooner(monkeypatch):
    monkeypatch.setattr(kill_test, "RUNNING_S", 0.5)


@pytest.mark.full
def test_a_run_that_is_killed_goes_on_with_what_it_had(tmp_path):
    outcome = run_kill_test(KillTest(tmp_path / "test", kills=2, seed=9))
    assert outcome.faults == []
    assert outcome.kills == 2
    assert outcome.restarts_checked > 0
    assert outcome.iterations >= kill_test.LAST_ITERATIONS
    assert outcome.ledger_rows > 0


@pytest.mark.full
def test_a_deterministic_run_that_is_killed_ends_as_one_that_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(kill_test, "SAVES", 2)
    monkeypatch.setattr(kill_test, "PER_KILL", 6)
    outcome = run_kill_test(KillTest(tmp_path / "test", kills=2, seed=3, deterministic=True))
    assert outcome.faults == []
    assert outcome.kills > 0  # fewer than 2 where it was quicker than they were
    assert outcome.iterations == 2 * kill_test.PER_KILL
    assert outcome.ledger_rows > 0


def given(*arguments):
    return command.parser().parse_args([str(each) for each in arguments])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--kills", 0], "--kills is 0; valid: 1 or more"),
        (["--folder", "."], r"--folder \. exists"),
        (["--deterministic", "--game-type", "matching"], "--deterministic needs a fighting game"),
        (["--", "--bogus"], "unknown flag --bogus"),
    ],
)
def test_mistakes_are_told_before_anything_starts(arguments, told):
    with pytest.raises(ConfigError, match=told):
        command.check(given(*arguments))


def test_figures_are_put_where_they_are_read(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / page.PAGE).parent.mkdir(parents=True)
    (tmp_path / page.PAGE).write_text("before\n<!-- kill_resume: begin -->\nold\n<!-- kill_resume: end -->\nafter\n")
    test = KillTest(tmp_path / "none", kills=3, seed=5)
    page.write(
        tmp_path, page.document(test, KillTestResult(kills=3, in_a_save=2, faults=["bad"]), "kill_resume --kills 3")
    )
    equal = KillTest(tmp_path / "none", kills=9, seed=5, deterministic=True)
    page.write(tmp_path, page.document(equal, KillTestResult(kills=9), "kill_resume --deterministic"))
    text = (tmp_path / page.PAGE).read_text()
    assert "old" not in text
    assert "| | mock | mock, deterministic |" in text
    assert "| kills (SIGKILL) | 3 | 9 |" in text
    assert "| faults | 1 | 0 |" in text
    kept = json.loads((tmp_path / "data" / page.DATA).read_text())
    assert kept["mock"]["command"] == "kill_resume --kills 3"
    assert kept["mock"]["seed"] == 5
    assert kept["mock"]["faults"] == ["bad"]
