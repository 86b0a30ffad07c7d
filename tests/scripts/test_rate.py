import json

import pytest

from tests.scripts.commands import run


def test_it_plays_a_budget_of_games_and_shows_the_table(trained, tmp_path):
    done = run("rate", trained, "--budget", 12, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "12 games played" in done.stdout
    assert "gen_0" in done.stdout
    assert "only random is pinned" in done.stdout
    assert done.stderr.splitlines()[-1] == "12 of 12 games"
    assert list((trained / "events" / "ratings").iterdir())


def test_calibrating_leaves_a_table_that_the_leaderboard_names(trained, tmp_path):
    done = run("rate", trained, "--calibrate", "--games", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((trained / "anchors.json").read_text())["games"] == 2 * 21  # pairs
    assert not (trained / "ledger.jsonl").exists()
    done = run("rate", trained, "--budget", 4, cwd=tmp_path)
    assert "this run's own calibration" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--games", 10), "goes with --calibrate"),
        (("--budget", 0), "at least 1"),
        (("--calibrate", "--games", 0), "at least 1"),
        (("--calibrate", "--games", 1), "at least 2"),
    ],
)
def test_what_cannot_be_is_said(options, message, trained, tmp_path):
    done = run("rate", trained, *options, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


def test_no_run_is_said(tmp_path):
    done = run("rate", tmp_path / "nothing", cwd=tmp_path)
    assert done.returncode == 2
    assert "nothing" in done.stderr
