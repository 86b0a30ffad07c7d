"""Ten kills of real runs in processes of their own; scripts/torture.py does as many as one likes."""

import json

import pytest

from scripts import torture
from selfplay.errors import ConfigError
from selfplay.trainer.torture import ordeal as ordeals
from selfplay.trainer.torture import page
from selfplay.trainer.torture.ordeal import Ordeal, Outcome, endure


@pytest.fixture(autouse=True)
def _sooner(monkeypatch):
    monkeypatch.setattr(ordeals, "RUNNING_S", 0.5)


def test_a_run_that_is_killed_goes_on_with_what_it_had(tmp_path):
    outcome = endure(Ordeal(tmp_path / "torture", kills=6, seed=2))
    assert outcome.faults == []
    assert outcome.kills == 6
    assert outcome.restarts_checked > 0
    assert outcome.iterations >= ordeals.AFTERWARDS
    assert outcome.ledger_rows > 0


def test_a_deterministic_run_that_is_killed_ends_as_one_that_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(ordeals, "SAVES", 2)
    monkeypatch.setattr(ordeals, "PER_KILL", 6)
    outcome = endure(Ordeal(tmp_path / "torture", kills=4, seed=3, deterministic=True))
    assert outcome.faults == []
    assert outcome.kills > 0  # fewer than 4 where it was quicker than they were
    assert outcome.iterations == 4 * ordeals.PER_KILL
    assert outcome.ledger_rows > 0


def given(*arguments):
    return torture.parser().parse_args([str(each) for each in arguments])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--kills", 0], "--kills is 0; valid: 1 or more"),
        (["--folder", "."], r"--folder \. exists"),
        (["--deterministic", "--game-type", "matching"], "--deterministic is a promise of fights"),
        (["--", "--bogus"], "unknown flag --bogus"),
    ],
)
def test_mistakes_are_told_before_anything_starts(arguments, told):
    with pytest.raises(ConfigError, match=told):
        torture.check(given(*arguments))


def test_figures_are_put_where_they_are_read(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / page.PAGE).write_text("before\n<!-- torture: begin -->\nold\n<!-- torture: end -->\nafter\n")
    ordeal = Ordeal(tmp_path / "none", kills=3, seed=5)
    page.write(tmp_path, page.document(ordeal, Outcome(kills=3, in_a_save=2, faults=["bad"]), "torture.py --kills 3"))
    equal = Ordeal(tmp_path / "none", kills=9, seed=5, deterministic=True)
    page.write(tmp_path, page.document(equal, Outcome(kills=9), "torture.py --deterministic"))
    text = (tmp_path / page.PAGE).read_text()
    assert "old" not in text
    assert "| | mock | mock, deterministic |" in text
    assert "| kills (SIGKILL) | 3 | 9 |" in text
    assert "| faults | 1 | 0 |" in text
    kept = json.loads((tmp_path / "data" / page.DATA).read_text())
    assert kept["mock"]["command"] == "torture.py --kills 3"
    assert kept["mock"]["seed"] == 5
    assert kept["mock"]["faults"] == ["bad"]
