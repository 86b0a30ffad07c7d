import json

import pytest

from tests.scripts.commands import run

TINY = ("--num-games", 8, "--rollout-length", 16, "--batch-size", 64, "--hidden", 8, "--ppo-epochs", 1, "--runners", 2)


def test_a_short_soak_with_faults_leaves_nothing_and_recovers(tmp_path):
    ended = run(
        "soak.py", "--minutes", 0.15, "--chaos", "crash=0.02,nan=0.02,kill=0.01", "--json", "--folder",
        tmp_path / "soak", "--", *TINY, cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr
    figures = json.loads(ended.stdout)
    assert figures["failures"] == []
    assert figures["iterations"] > 0
    assert figures["exit_code"] == 130
    assert figures["processes_left"] == figures["temporary_files_left"] == 0
    assert figures["samples"]
    assert str(tmp_path) not in figures["command"]  # which stands in the docs, for others to repeat
    assert (tmp_path / "soak" / "run" / "summary.json").exists()


def test_a_training_that_does_not_begin_is_told_of(tmp_path):
    ended = run("soak.py", "--minutes", 1, "--", "--num-games", 0, cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.startswith("soak.py: the training did not begin: train_self_play.py: --num-games 0:")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--minutes", 0), "--minutes must be above 0"),
        (("--folder", "."), "exists; name a new one"),
        (("--game-type", "chess"), "invalid choice: 'chess'"),
        (("--chaos", "fire=1"), "valid kinds"),
        (("--game-type", "kuhn_text", "--chaos", "kill=0.1"), "in processes of their own"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, arguments, words):
    ended = run("soak.py", *arguments, cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("soak.py: ")
    assert words in line
