"""No rule reads beyond an array."""

import os
import sys
from pathlib import Path

import pytest

from tests.melee.slp_files import REAL
from tests.support.processes import finish

LIMIT_S = 1500  # of the long games
ROOT = Path(__file__).parents[2]


def play(arguments, **environment):
    environment = {**os.environ, **environment, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.melee.bounds", *arguments]
    return finish(command, limit_s=LIMIT_S, cwd=ROOT, env=environment)


@pytest.mark.full
@pytest.mark.timeout(600)  # uncompiled
def test_no_index_is_out_of_bounds_uncompiled():
    """NumPy checks every index, and nothing has to be compiled again for it."""
    done = play(["--frames", "100"], NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_index_is_out_of_bounds_in_long_games_and_real_replays(tmp_path):
    replays = ["--replays", str(REAL)] if REAL.is_dir() else []
    done = play(["--frames", "3000", *replays], NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr[-2000:]
