"""The way from an empty folder to a fight as measured: what README says of it is in the document."""

import json
import re
from pathlib import Path

import pytest

from scripts.studies import install
from tests.scripts.commands import mistake

ROOT = Path(__file__).parents[2]
STEPS = ("environment_s", "install_s", "page_s", "browser_s", "fight_s")


def test_readme_says_what_was_measured():
    document = json.loads(install.DOCUMENT.read_text(encoding="utf-8"))
    runs = document["runs"]
    assert all(run["total_s"] == pytest.approx(sum(run[step] for step in STEPS), abs=0.1) for run in runs)
    best = min(runs, key=lambda run: run["total_s"])
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert int(re.search(r"begins (\d+) s after the\s+download", readme)[1]) == round(best["total_s"])


def test_a_folder_without_the_wheel_is_a_mistake(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["install", "--wheels", str(tmp_path)])
    monkeypatch.setattr(install.shutil, "which", lambda name: name)
    assert "there is no wheel of this project" in mistake(capsys, "python -m scripts.studies.install", install.main)
