"""Time to the first iteration of a trainer, and its memory while it runs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Final

from scripts.studies import ROOT, TRAINER
from selfplay.distribution import install_command
from selfplay.errors import ConfigError, SelfPlayError

IMPORTS: Final = "import torch, numba"
SETTLED: Final = 30  # iterations after which memory is constant, with ratings


def start_beyond_imports_s(rounds: int) -> float:
    """Seconds to the first iteration of a trainer of 4 games, beyond the time to import torch and Numba.

    The median of so many pairs, timed in turn. A first trainer, which is not timed, fills the compilation cache.
    """
    _first_iteration_s()
    return median(_first_iteration_s() - _imports_s() for _ in range(rounds))


def tree_mb(games: int = 256) -> float:
    """Peak memory in megabytes of a trainer of so many games and its processes, while it trains and rates.

    Raises:
        ConfigError: psutil is not installed.
    """
    if find_spec("psutil") is None:
        raise ConfigError("to measure a trainer's memory takes psutil: " + install_command("dolphin"))
    import psutil

    most = 0
    with _training("--num-games", str(games), "--track-elo") as trainer:
        for number, _ in enumerate(_iterations(trainer), 1):
            parent = psutil.Process(trainer.pid)
            with suppress(psutil.NoSuchProcess):  # a child that has just ended
                most = max(most, sum(each.memory_info().rss for each in (parent, *parent.children(recursive=True))))
            if number == SETTLED:
                break
    return most / 2**20


def _imports_s() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", IMPORTS], check=True, cwd=ROOT)
    return time.perf_counter() - started


def _first_iteration_s() -> float:
    started = time.perf_counter()
    with _training("--num-games", "4") as trainer:
        next(_iterations(trainer))
        return time.perf_counter() - started


def _iterations(trainer: subprocess.Popen[str]) -> Iterator[str]:
    """Lines of iterations, as they are printed."""
    said: Sequence[str] = ()
    for line in trainer.stdout or ():
        said = (*said[-4:], line)
        if " Iter " in line:
            yield line
    raise SelfPlayError(f"a training ended by itself: {''.join(said).strip()}")


@contextmanager
def _training(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A trainer as users start it, killed at the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*TRAINER, "--game-type", "mock", *arguments]
        command += ["--verbose", "--max-minutes", "60", "--checkpoint", str(Path(folder) / "run")]  # all iterations
        trainer = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            yield trainer
        finally:
            trainer.kill()
            trainer.communicate()
