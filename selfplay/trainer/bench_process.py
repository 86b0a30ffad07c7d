"""What a person waits for and pays for: the time to a first iteration, and the memory of the trainer as it runs."""

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

from selfplay.errors import ConfigError, SelfPlayError

ROOT: Final = Path(__file__).resolve().parents[2]
IMPORTS: Final = "import torch, numba"
SETTLED: Final = 30  # iterations after which a trainer holds what it needs, ratings among it


def start_beyond_imports_s(rounds: int) -> float:
    """Seconds that a trainer of 4 games needs to end its first iteration, beyond those of importing torch and Numba.

    The median of so many pairs, timed in turn. A first trainer, untimed, compiles what is not compiled yet.
    """
    _first_iteration_s()
    return median(_first_iteration_s() - _imports_s() for _ in range(rounds))


def tree_mb(games: int = 256) -> float:
    """The most megabytes that a trainer of so many games held while it trained and rated, with all its processes.

    Raises:
        ConfigError: psutil is not installed.
    """
    if find_spec("psutil") is None:
        raise ConfigError("to measure a trainer's memory takes psutil: pip install -e '.[dolphin]'")
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
    """The lines that tell of an iteration, as they come."""
    said: Sequence[str] = ()
    for line in trainer.stdout or ():
        said = (*said[-4:], line)
        if " Iter " in line:
            yield line
    raise SelfPlayError(f"a training ended by itself: {''.join(said).strip()}")


@contextmanager
def _training(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A trainer as a person starts it, without end but that of the block."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(ROOT / "scripts" / "train_self_play.py"), "--game-type", "mock", *arguments]
        command += ["--max-minutes", "60", "--checkpoint", str(Path(folder) / "run")]
        trainer = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            yield trainer
        finally:
            trainer.kill()
            trainer.communicate()
