"""Connect Four beside MaskablePPO: games as rows, times by part, and both programs at small size."""

import json
import sys

import numpy as np
import pytest

from scripts.studies.rivals import connect_four, our_connect_four
from scripts.studies.rivals.programs import boards
from scripts.studies.rivals.programs.boards import PARTS, Boards, Spent, answer
from scripts.studies.rivals.programs.job import Laps
from scripts.studies.rivals.running import ask_document
from scripts.studies.rivals.venvs import MASKABLE, default_folder

VENV = default_folder() / MASKABLE.name


def play(rows, *columns):
    """Steps of one game each, in the other game the column beside."""
    return [rows.step(np.array([column, (column + 1) % 7])) for column in columns]


def test_the_seat_that_moves_sees_itself_first_and_is_rewarded():
    rows = Boards(2)
    assert not rows.reset().any()
    steps = play(rows, 0, 1, 0, 1, 0, 1)
    seen = steps[0].obs.reshape(2, 6, 7, 2)
    assert (seen[0, 5, 0].tolist(), seen[1, 5, 1].tolist()) == ([0, 1], [0, 1])  # of the other seat
    assert not any(step.reward.any() or step.terminated.any() for step in steps)
    (last,) = play(rows, 0)
    assert last.reward.tolist() == [1, 1]
    assert last.terminated.all()
    assert not last.obs.any()  # of the next games
    assert rows.masks.all()


def test_full_columns_are_masked():
    rows = Boards(2)
    rows.reset()
    play(rows, *[3] * 6)
    assert rows.masks.tolist() == [[column != full for column in range(7)] for full in (3, 4)]


def test_parts_are_apart_and_the_first_iteration_is_left_out(monkeypatch, capsys):
    monkeypatch.setattr(boards, "SPENT", spent := Spent())
    for environment, block in ((50.0, 60.0), (1.0, 1.5)):
        spent.environment, spent.block = environment, block
        spent.lap()
    answer("7", [5, 6], Laps([100.0, 6.0], [70.0, 3.0], [10.0, 2.0]))
    seconds = dict(zip(PARTS, (1.0, 0.5, 1.5, 2.0, 1.0), strict=True))
    assert json.loads(capsys.readouterr().out) == {"version": "7", "agent_steps": 6, "seconds": seconds}


def test_figures_are_shown(tmp_path):
    parts = dict(zip(PARTS, (5.0, 1.0, 1.0, 2.0, 0.0), strict=True))
    documented, faster = connect_four.THEIRS
    own = {("selfplay", 1): 1, ("selfplay", 2): 0.5, (documented, 1): 2.5, (documented, 2): 3.0, (faster, 1): 1.0}

    def ask(words, variables):
        times = own[words[0], int(variables["threads"])]
        return {"version": "7", "agent_steps": 1_000_000, "seconds": {**parts, "update": 2.0 * times}}

    samples = {key: ([key[0]], {"threads": str(key[1])}) for key in own}
    rows = connect_four.measure(samples, 2, lambda _: None, ask)
    assert [row["own_us"] for row in rows] == [[4.0] * 2, [3.0] * 2, [7.0] * 2, [8.0] * 2, [4.0] * 2]
    ratios = connect_four.ratios(rows)
    assert ratios == pytest.approx({documented: 7 / 3, faster: 4 / 3})
    document = {"date": "today", "processor": "x", "cores": 2, "rounds": 2, "ratios": ratios, "rows": rows}
    (tmp_path / "performance.md").write_text("<!-- connect_four_speed: begin -->\n<!-- connect_four_speed: end -->\n")
    connect_four.write(tmp_path, document)
    text = (tmp_path / "performance.md").read_text()
    assert "| selfplay | 7 | 1 | 4.0 [4.0, 4.0] | 5.0 (56%) | 1.0 (11%) | 1.0 (11%) | 2.0 (22%) | 0.0 (0%) |" in text
    assert f"{documented}: 2.33, met; {faster}: 1.33, missed" in text
    assert json.loads((tmp_path / "data" / "connect_four_speed.json").read_text()) == document


@pytest.mark.blocking("the loop of the benchmark writes reports as it goes")
def test_ours_learns_and_all_its_time_has_a_part(monkeypatch, capsys):
    spent = boards.SPENT
    monkeypatch.setattr(spent, "laps", [])
    rows, laps = our_connect_four.train(games=2, threads=1, iterations=2)
    assert len(spent.laps) == len(rows) == len(laps.total) == 2
    assert 0 < rows[1] <= 2 * 32
    answer("7", rows, laps)
    seconds = json.loads(capsys.readouterr().out.splitlines()[-1])["seconds"]
    assert all(value > 0 for value in seconds.values())
    assert sum(seconds.values()) == pytest.approx(laps.total[1])


@pytest.mark.skipif(not (VENV / "installed.json").exists(), reason="MaskablePPO's environment is not there")
@pytest.mark.parametrize("name", connect_four.THEIRS)
def test_maskable_ppo_learns(name):
    words, variables = connect_four.programs(VENV / "bin" / "python", games=2, iterations=1)[name, 1]
    assert words[0] != sys.executable
    found = ask_document(words, variables)
    assert found["agent_steps"] == 2 * 32
    assert all(found["seconds"][part] > 0 for part in PARTS[:-1])
