"""Emulators in child processes: whoever is killed, nothing of the rest stays."""

import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from selfplay.errors import RunnerError
from selfplay.games.errors import GameError
from selfplay.runner.process_game import ProcessGame
from selfplay_melee.dolphin.install import is_free
from tests.melee.dolphin.emulators import PORT, Disc, disc_with, write_stand_in
from tests.scripts.commands import is_alive, wait_for
from tests.support.processes import LIMIT_S, Process

psutil = pytest.importorskip("psutil", reason="needs psutil (the extra dolphin)")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc"),
    pytest.mark.full,
]
ROOT = Path(__file__).parents[3]
SEEDS = np.array([3], np.uint64)
OURS = re.compile(r"selfplay-|libmelee_|dolphin-")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder for temporary files of this test; nothing of ours may be left in it."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield tmp_path
    monkeypatch.undo()
    wait_for(lambda: not [path for path in scratch.iterdir() if OURS.match(path.name)])
    wait_for(lambda: is_free(PORT))


def options(place, disc=None):
    program, image = write_stand_in(place / "stand_in", disc or Disc(), compiled=False)
    return {
        "num_games": 1, "dolphin": str(program), "iso": str(image), "slippi_port": PORT, "max_episode_frames": 100,
        "start_timeout_s": LIMIT_S, "frame_timeout_s": LIMIT_S,
    }  # fmt: skip


def processes_below(pid):
    """All that runs below a process."""
    found = psutil.Process(pid).children(recursive=True)
    assert [one for one in found if "stand_in" in " ".join(one.cmdline())]
    return [one.pid for one in found]


def emulator_below(pid):
    (found,) = (one for one in psutil.Process(pid).children() if "stand_in" in " ".join(one.cmdline()))
    return found.pid


def begin(place, disc=None):
    game = ProcessGame("dolphin", options(place, disc))
    game.reset(SEEDS)
    return game


def actions(game):
    made = np.zeros((1, 2, game.actions.width), np.int8)
    made[..., game.actions.binary :] = np.maximum(game.actions.rest, 0)
    return made


def test_the_worker_is_killed(place):
    game = begin(place)
    try:
        below = processes_below(game.pid)
        os.kill(game.pid, signal.SIGKILL)
        with pytest.raises(RunnerError, match=f"game process {game.pid}"):
            game.step(actions(game))
    finally:
        game.close()
    wait_for(lambda: not any(map(is_alive, below)))


def test_the_emulator_is_killed(place):
    game = begin(place)
    try:
        below = processes_below(game.pid)
        os.kill(emulator_below(game.pid), signal.SIGKILL)
        with pytest.raises(GameError, match="ended with signal 9"):
            game.step(actions(game))
        game.reset(SEEDS)  # the worker has come through it
        game.step(actions(game))
        below += processes_below(game.pid)
    finally:
        game.close()
    wait_for(lambda: not any(map(is_alive, below)))


def test_the_trainer_is_killed(place):
    code = f"""
        import numpy as np, time
        from selfplay.runner.process_game import ProcessGame
        game = ProcessGame("dolphin", {options(place)!r})
        game.reset(np.array([3], np.uint64))
        print(game.pid, flush=True)
        time.sleep(600)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with Process(command, cwd=ROOT, stdout=subprocess.PIPE) as trainer:
        below = processes_below(trainer.pid) if int(trainer.stdout.readline()) else []
        assert len(below) >= 4  # keeper, worker, emulator, libmelee's connection
        trainer.kill()
        wait_for(lambda: not any(map(is_alive, below)))


def test_a_closed_game_leaves_nothing_although_its_emulator_hangs(place):
    game = begin(place)
    below = processes_below(game.pid)
    os.kill(emulator_below(game.pid), signal.SIGSTOP)
    game.close()
    wait_for(lambda: not any(map(is_alive, below)))


def test_faults_reach_the_parent_in_words(place):
    game = ProcessGame("dolphin", options(place, disc_with("wrong_stage")))
    try:
        with pytest.raises(GameError, match="began on"):
            game.reset(SEEDS)
    finally:
        game.close()
    with pytest.raises(GameError, match="does not exist"):
        ProcessGame("dolphin", {**options(place), "iso": str(place / "none.iso")})


def test_a_start_has_a_deadline(place):
    with pytest.raises(RunnerError, match=r"was not ready within 0\.01 s"):
        ProcessGame("dolphin", options(place), start_timeout_s=0.01)
