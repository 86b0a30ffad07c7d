"""Cells are measured once, and a damaged one is refused; no package of others is needed."""

import json
import sys

import pytest

from scripts.studies.equilibrium import __main__ as study
from scripts.studies.equilibrium.cells import Key, read_cells, write_cell
from scripts.studies.rivals.venvs import PeerError
from selfplay.errors import ConfigError
from tests.studies.equilibrium.examples import answer, cell

KEY = Key("kuhn_poker", "cfr", 0, 10.0)


def printing(document):
    """A program in place of a training: it prints its answer."""
    return [sys.executable, "-c", f"print('progress')\nprint({json.dumps(document)!r})"]


@pytest.fixture
def started(monkeypatch):
    """Keys of the cells whose training was started; each prints an answer."""
    keys = []

    def commands(missing, venvs):
        return lambda key: keys.append(key) or printing(answer())

    monkeypatch.setattr(study, "_commands", commands)
    return keys


def run(folder, *words, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["equilibrium", "--folder", str(folder), *words])
    return study.main()


def test_only_missing_cells_are_measured(tmp_path, started, monkeypatch, capsys):
    words = ("--games", "kuhn_poker", "--methods", "cfr", "--minutes", "10", "--jobs", "2", "--seeds")
    assert run(tmp_path, *words, "0", monkeypatch=monkeypatch) == 0
    assert run(tmp_path, *words, "0", "1", "0", monkeypatch=monkeypatch) == 0
    assert started == [KEY, KEY._replace(seed=1)]
    assert run(tmp_path, *words, "0", "1", monkeypatch=monkeypatch) == 0
    assert len(started) == 2
    assert "2 cells, 0 to measure: 0 processor minutes" in capsys.readouterr().out
    found = read_cells(tmp_path)
    assert [each.key for each in found] == [KEY, KEY._replace(seed=1)]
    assert [point.average for point in found[0].points] == [0.5, 0.25]
    assert found[0].command.endswith("--games kuhn_poker --methods cfr --seeds 0 --minutes 10")


def test_the_plan_starts_nothing(tmp_path, started, monkeypatch, capsys):
    assert run(tmp_path, "--plan", "--jobs", "2", "--minutes", "4", monkeypatch=monkeypatch) == 0
    assert "90 cells, 90 to measure: 360 processor minutes, about 180 minutes" in capsys.readouterr().out
    assert started == []


def test_a_training_that_fails_leaves_no_cell_and_the_others_go_on(tmp_path, capsys):
    programs = {
        KEY: [sys.executable, "-c", "raise SystemExit('KeyError: it is broken')"],
        KEY._replace(seed=1): printing({}),
        KEY._replace(seed=2): printing(answer()),
    }
    assert study.measure([*programs], programs.get, tmp_path, jobs=1) == 1
    told = capsys.readouterr().out
    assert "kuhn_poker-cfr-seed0-10min.json: KeyError: it is broken" in told
    assert "kuhn_poker-cfr-seed1-10min.json: the last line of its process is no answer" in told
    assert [each.seed for each in read_cells(tmp_path)] == [2]


def test_a_training_that_hangs_is_ended(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(study, "SLOWEST", 0)
    hanging = [sys.executable, "-c", "import time; time.sleep(1000)"]
    assert study.measure([KEY], lambda key: hanging, tmp_path, jobs=1) == 1
    assert "kuhn_poker-cfr-seed0-10min.json: it took too long and was ended" in capsys.readouterr().out


@pytest.mark.parametrize("printed", ["", "done", "{}", json.dumps(answer() | {"points": []})])
def test_what_is_no_answer_becomes_no_cell(printed):
    with pytest.raises(PeerError, match="the last line of its process"):
        study.cell_of(KEY, printed)


@pytest.mark.parametrize(
    "change",
    [
        {"points": []},
        {"points": [{"seconds": 1, "steps": 1, "last": -1.0, "average": None}]},
        {"points": [{"seconds": 1, "steps": 1, "last": float("nan"), "average": None}]},
        {"minutes": 0},
        {"more": 1},
        {"uniform": "high"},
    ],
)
def test_a_damaged_cell_is_refused_before_any_work(change, tmp_path, started, monkeypatch, capsys):
    write_cell(tmp_path, cell())
    path = tmp_path / KEY.file
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert run(tmp_path, monkeypatch=monkeypatch) == 2
    assert f"{path} is no cell of this study; delete it to measure it again: " in capsys.readouterr().err
    assert started == []


def test_half_a_cell_is_refused(tmp_path):
    (tmp_path / KEY.file).write_text('{"game": "kuhn')
    with pytest.raises(ConfigError, match="is no cell of this study"):
        read_cells(tmp_path)


def test_a_cell_under_the_name_of_another_is_refused(tmp_path):
    write_cell(tmp_path, cell())
    (tmp_path / KEY.file).rename(tmp_path / "leduc_poker-cfr-seed0-10min.json")
    with pytest.raises(ConfigError, match=r"has the cell of kuhn_poker-cfr-seed0-10min\.json"):
        read_cells(tmp_path)


def test_without_open_spiel_one_line_says_how_to_install_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(study, "find_spec", lambda name: None)
    assert run(tmp_path, "--methods", "ppo", monkeypatch=monkeypatch) == 2
    assert "not installed: " in (told := capsys.readouterr().err)
    assert "pip install open_spiel==2.0.2 dm-tree" in told
