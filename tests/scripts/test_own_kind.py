"""A game of an installed package that brings a setting, a column on the page of a run, and a verb."""

import json
import shutil
import sys

import pytest

from tests.scripts.commands import ENVIRONMENT, ROOT, finish

POINTS = "[selfplay.games]\nnim = their_nim:NIM\n[selfplay.verbs]\nnim = their_nim:VERBS\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder on the path with a package, as pip installs it."""
    folder = tmp_path_factory.mktemp("package")
    info = folder / "their_nim-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-nim\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    shutil.copy(ROOT / "selfplay/examples/nim.py", folder / "their_nim.py")
    return folder


def selfplay(home, *words):
    path = f"{home}:{ENVIRONMENT['PYTHONPATH']}"
    done = finish(
        [sys.executable, "-m", "selfplay", *map(str, words)], cwd=home, env=ENVIRONMENT | {"PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run(home):
    size = ("--num-games", 8, "--rollout-length", 16, "--timesteps", 512, "--save-interval", 2, "--hidden", "8")
    selfplay(home, "train", "--game-type", "nim", "--stones", 9, *size, "--track-elo", "--checkpoint", "run")
    return home / "run"


def test_its_setting_reaches_the_games_and_the_policies(home, run):
    assert "--stones N" in selfplay(home, "train", "--game-type", "nim", "--help")
    assert "--stones" not in selfplay(home, "train", "--game-type", "kuhn", "--help")
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert all(3 <= row["play/frames"] <= 9 for row in rows)
    assert json.loads((run / "generations/gen_4/policy.json").read_text())["body"] == {"stones": 9}
    games = [json.loads(line) for line in (run / "ledger.jsonl").read_text().splitlines()]
    assert all(3 <= game["steps"] <= 9 for game in games)


def test_its_column_is_on_the_page(home, run):
    selfplay(home, "leaderboard", run, "--html", "page.html")
    assert "Moves a game" in (home / "page.html").read_text()


def test_its_verb_is_one_of_the_command(home):
    assert "nim-move" in selfplay(home, "--help")
    assert selfplay(home, "nim-move", 7) == "take 3\n"
