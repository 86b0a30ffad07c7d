import json
import os
import sys
from pathlib import Path

import pytest

from selfplay.cli.ppo import parse
from selfplay.commands.cli import leaderboard
from tests.run.runs import rows, train
from tests.support.processes import finish

KIND = ("--game-type", "tests.games.outside_kind:KIND")


def test_a_kind_brings_a_setting_and_a_figure(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit, match="0"):
        parse([*KIND, "--help"])
    assert "Race:\n  --goal N              Fields to the goal (default 4)\n" in capsys.readouterr().out
    run, page, size = tmp_path / "run", tmp_path / "page.html", ("--rollout-length", 64, "--timesteps", 512)
    assert train(run, *KIND, "--goal", 40, "--track-elo", size=size)[0] == 0
    assert json.loads((run / "run.json").read_text())["config"]["race"] == {"goal": 40}
    assert all(20 <= row["play/fields"] <= 41 for row in rows(run / "metrics.jsonl"))
    monkeypatch.setattr(sys, "argv", ["selfplay leaderboard", str(run), "--html", str(page)])
    assert (leaderboard.main(), "Fields that were run" in page.read_text()) == (0, True)


def test_a_package_brings_a_verb(tmp_path):
    (info := tmp_path / "outside-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[selfplay.verbs]\nrun-alone = tests.games.outside_kind:VERB\n")
    place = {"cwd": Path(__file__).parents[2], "env": os.environ | {"PYTHONPATH": str(tmp_path)}}
    assert "run-alone         run alone\n" in finish([sys.executable, "-m", "selfplay", "--help"], **place).stdout
    done = finish([sys.executable, "-m", "selfplay", "run-alone", "3"], **place)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")
