"""Trainers as child processes, several at once. They end with this process, however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from selfplay.distribution import python_path
from selfplay.runner.process_reaper import ProcessReaper

POLL_S: Final = 0.05
STOP_S: Final = 300.0  # for trainers to save and end; a second Ctrl-C does not wait
THREADS: Final = "OMP_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Job:
    """A call of ``selfplay`` with these words, and the file for what it prints."""

    words: tuple[str, ...]
    log: Path


class _Trainer:
    def __init__(self, job: Job, threads: int) -> None:
        self.started = time.monotonic()
        self._reaper = ProcessReaper()
        try:
            with job.log.open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "selfplay", *job.words],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=self._reaper.environment | {"PYTHONPATH": python_path(), THREADS: str(threads)},
                    start_new_session=True,  # Ctrl-C of the terminal is ours to pass on
                )
        except BaseException:
            self._reaper.close()
            raise
        self._reaper.watch(self._process.pid)

    def code(self) -> int | None:
        """Its exit code once it has ended."""
        return self._process.poll()

    def ask_to_stop(self) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """Kill it if it still runs."""
        self._reaper.close()
        self._process.wait()


def run_jobs(
    jobs: Mapping[str, Job],
    at_once: int,
    threads: int,
    ended: Callable[[str, int, float], object],
    stopped: Callable[[], bool],
    notice: Callable[[str], object],
) -> None:
    """Run all jobs, so many at once. Blocks.

    ``ended`` is called with the name, the exit code and the seconds of each. Once ``stopped`` says so, running trainers
    are asked to save and end, and no other is started.
    """
    waiting = deque(jobs.items())
    running: dict[str, _Trainer] = {}
    try:
        while (waiting or running) and not stopped():
            while waiting and len(running) < at_once:
                name, job = waiting.popleft()
                running[name] = _Trainer(job, threads)
            for name, code in [(name, trainer.code()) for name, trainer in running.items()]:
                if code is not None:
                    trainer = running.pop(name)
                    trainer.close()
                    ended(name, code, time.monotonic() - trainer.started)
            time.sleep(POLL_S)
    finally:
        if running:
            notice("Stopping: the runs save and end; Ctrl-C again kills them")
        _stop([*running.values()])


def _stop(trainers: Sequence[_Trainer]) -> None:
    try:
        for trainer in trainers:
            trainer.ask_to_stop()
        deadline = time.monotonic() + STOP_S
        while any(trainer.code() is None for trainer in trainers) and time.monotonic() < deadline:
            time.sleep(POLL_S)
    finally:  # also after a second Ctrl-C
        for trainer in trainers:
            trainer.close()
