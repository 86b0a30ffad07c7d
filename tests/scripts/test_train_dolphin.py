"""Training on real games as a person starts it, with the stand-in in place of Dolphin and disc."""

import json
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from selfplay.league.ledger import read_games
from selfplay_melee.dolphin.install import is_free
from tests.melee.dolphin.emulators import PORT
from tests.scripts.commands import ENVIRONMENT, children_of, is_alive, read_until, run, start, wait_for
from tests.support.fake_dolphin.disc import Disc, Fault
from tests.support.fake_dolphin.write import write_stand_in
from tests.support.processes import LIMIT_S

pytest.importorskip("melee", reason="libmelee is not installed")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc"),
    pytest.mark.timeout(500),
    pytest.mark.full,
]
GAMES = 2


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder for temporary files, of this test alone, to be found empty."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setitem(ENVIRONMENT, "TMPDIR", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    wait_for(lambda: not left_in(folder))


def left_in(folder):
    return [path.name for path in folder.iterdir() if not path.name.startswith("torchinductor")]


def arguments(tmp_path, disc=None, **more):
    dolphin, iso = write_stand_in(tmp_path / "stand_in", disc or Disc(), compiled=False)
    given = {
        "game-type": "dolphin",
        "dolphin": dolphin,
        "iso": iso,
        "num-games": GAMES,
        "rollout-length": 32,
        "max-episode-frames": 400,
        "hidden": 16,
        "checkpoint": "run",
        "set": f"emulator.start_timeout={LIMIT_S}",
        **more,
    }
    words = [word for name, value in given.items() for word in (f"--{name}", value)]
    return [*words, "--set", f"emulator.slippi_port={PORT}"]


def descendants(pid):
    """Of a process, as long as they are there."""
    found = []
    for child in children_of(pid):
        found.append(child)
        if Path(f"/proc/{child}/task").is_dir():
            found += descendants(child)
    return found


def test_games_are_trained_on_rated_and_shown(tmp_path, scratch):
    done = run(
        "train_self_play.py",
        *arguments(tmp_path, timesteps=6 * GAMES * 32, **{"save-interval": 3, "rating-share": 0.5}),
        "--track-elo",
        "--save-replays",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Elo Leaderboard" in done.stdout
    assert "settings of the stand-in for Dolphin; a real game needs" in done.stdout  # a warning
    folder = tmp_path / "run"
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert all(row["losses/grad_norm"] > 0 for row in rows)
    assert {"gen_0", "gen_3", "gen_6"} <= {path.name for path in (folder / "generations").iterdir()}
    assert list((folder / "events").glob("**/events.out.tfevents.*"))
    games = read_games(folder / "ledger.jsonl")
    assert "gen_6" in games.players
    assert len(games.players) >= 2
    assert list((folder / "replays").glob("**/*.slp"))
    assert all(is_free(port) for port in range(PORT, PORT + 2 * GAMES))


def test_ctrl_c_saves_and_a_resumed_run_goes_on_with_new_games(tmp_path, scratch):
    words = arguments(tmp_path, timesteps=10**6)
    with start("train_self_play.py", *words, cwd=tmp_path) as process:
        read_until(process, "Iter 2:")
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 130
    assert "Interrupted, and saved" in rest
    done = [json.loads(line)["iteration"] for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()][-1]
    onwards = ("--resume", "--checkpoint", "run", "--timesteps", (done + 1) * 64)
    refused = run("train_self_play.py", *onwards, cwd=tmp_path)
    assert refused.returncode == 2
    assert "folders can be anybody's" in refused.stderr  # which program is started is not for a file to say
    given = words[words.index("--dolphin") : words.index("--num-games")]
    again = run("train_self_play.py", *onwards, *given, cwd=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"Iter {done + 1}:" in again.stdout


def test_kill_9_of_the_trainer_leaves_nothing(tmp_path, scratch):
    words = arguments(tmp_path, timesteps=10**6)
    with start("train_self_play.py", *words, cwd=tmp_path) as process:
        read_until(process, "Iter 1:")
        family = descendants(process.pid)
        assert len(family) >= 2 * 4  # a keeper, a worker, libmelee's own and a Dolphin for each game
        process.kill()
        wait_for(lambda: not any(is_alive(pid) for pid in family))
        wait_for(lambda: not left_in(scratch))
        assert all(is_free(port) for port in range(PORT, PORT + 4))


def test_a_dolphin_that_dies_is_replaced_while_the_others_play_on(tmp_path, scratch):
    disc = Disc(faults=(Fault(kind="crash", at=50, once=True),))
    done = run("train_self_play.py", *arguments(tmp_path, disc, timesteps=4 * GAMES * 32), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Dolphin ended with exit code 139 after frame" in done.stdout
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert summary["restarts"] == 1
    assert summary["finished"]


def test_a_dolphin_that_never_starts_ends_the_run_with_the_first_cause(tmp_path, scratch):
    disc = Disc(faults=(Fault(kind="no_start"),))
    done = run("train_self_play.py", *arguments(tmp_path, disc, timesteps=1000, **{"num-games": 1}), cwd=tmp_path)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "Dolphin ended with exit code 1" in last


@pytest.mark.parametrize(
    ("missing", "words"),
    [("--iso", "no-such.iso"), ("--dolphin", "no-such-dolphin")],
)
def test_what_is_missing_is_one_line_and_nothing_is_started(tmp_path, scratch, missing, words):
    given = arguments(tmp_path, timesteps=1000)
    given[given.index(missing) + 1] = str(tmp_path / words)
    done = run("train_self_play.py", *given, cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert str(tmp_path / words) in line
    assert not (tmp_path / "run").exists()
