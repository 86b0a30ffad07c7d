import json
import sys
from pathlib import Path

import pytest

from tests.support.processes import finish

ROOT = Path(__file__).parents[2]
TINY = ("--num-games", 8, "--rollout-length", 16, "--batch-size", 64, "--hidden", 8, "--ppo-epochs", 1, "--runners", 2)


def soak(*arguments):
    words = [sys.executable, "-m", "scripts.studies.soak", *map(str, arguments)]
    return finish(words, cwd=ROOT)


@pytest.mark.full
def test_a_short_soak_with_faults_leaves_nothing_and_recovers(tmp_path):
    plan = "crash=0.02,nan=0.02,kill=0.01"
    ended = soak("--minutes", 0.15, "--chaos", plan, "--json", "--folder", tmp_path / "soak", "--", *TINY)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr
    figures = json.loads(ended.stdout)
    assert figures["failures"] == []
    assert figures["iterations"] > 0
    assert figures["exit_code"] == 130
    assert figures["processes_left"] == figures["temporary_files_left"] == 0
    assert str(tmp_path) not in figures["command"]  # which stands in the docs, for others to repeat
    assert (tmp_path / "soak" / "run" / "summary.json").exists()


@pytest.mark.full
def test_a_training_that_does_not_begin_is_told_of():
    ended = soak("--minutes", 1, "--", "--num-games", 0)
    assert ended.returncode == 1
    assert ended.stderr.startswith(
        "python -m scripts.studies.soak: the training did not begin: train_self_play.py: --num-games 0:"
    )
