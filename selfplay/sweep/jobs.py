"""Trainers as child processes, several at once. They end with this process, however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from selfplay.checkpoint.store import remove_folder
from selfplay.distribution import python_path
from selfplay.errors import SelfPlayError, describe
from selfplay.games.errors import GameError
from selfplay.games.files import last_line, printable
from selfplay.machine import usable_cores
from selfplay.runner.match import play_in_threads
from selfplay.runner.process_reaper import ProcessReaper

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.ppo.rating import PlayMatches
    from selfplay.sweep.cells import Measured

POLL_S: Final = 0.05
STOP_S: Final = 300.0  # for trainers to save and end; a second Ctrl-C does not wait
THREADS: Final = "OMP_NUM_THREADS"
AT_ONCE_GAMES: Final = 512
NO_ERROR: Final = "it ended without a message"


@dataclass(frozen=True, slots=True)
class Job:
    """A run that ``selfplay`` trains with the words ``begin``, or goes on with by ``resume``; any process may do it."""

    run: RunDir
    begin: tuple[str, ...]
    resume: tuple[str, ...]
    log: Path  # for what it prints
    judge: Callable[[], Measured]

    def words(self) -> tuple[str, ...]:
        """To start it with now; a run that was ended before its first save is removed."""
        if self.run.has_begun():
            return self.resume
        if self.run.path.exists():
            remove_folder(self.run.path)
        return self.begin

    def result(self, code: int) -> Measured | str:
        """After the exit code of its trainer: the strength of its policy, or the error. Blocks."""
        if code:
            return f"exit code {code}: {printable(last_line(self.log)) or NO_ERROR}"
        try:
            return self.judge()
        except (SelfPlayError, GameError) as failure:
            return f"its policy cannot be judged: {describe(failure)}"


class Trainer(Protocol):
    """A job that was started."""

    started: float  # by the monotonic clock

    def ended(self) -> bool: ...
    def result(self) -> Measured | str: ...  # of one that has ended, see ``Job.result``
    def ask_to_stop(self) -> None: ...  # to save and end
    def close(self) -> None: ...  # kills it if it still runs


class TrainerProcess:
    """A ``Trainer`` as a child process."""

    def __init__(self, job: Job, threads: int) -> None:
        self.started = time.monotonic()
        self._job = job
        self._reaper = ProcessReaper()
        try:
            words = job.words()
            with job.log.open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "selfplay", *words],
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

    def ended(self, seconds: float = 0.0) -> bool:
        """Whether it has ended after so many seconds at most."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode is not None

    def result(self) -> Measured | str:
        return self._job.result(self._process.wait())

    def ask_to_stop(self) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)  # actors of Ray block SIGINT, and so do their children

    def close(self) -> None:
        self._reaper.close()
        self._process.wait()


@dataclass(frozen=True, slots=True)
class Host:
    """Where a sweep trains its runs and plays the games that judge them."""

    jobs: int  # trainers at once
    threads: int  # of each
    trainers: Callable[[int], AbstractContextManager[Callable[[Job], Trainer]]]
    """Starts trainers inside the block, of which there will be so many."""
    matches: Callable[[], AbstractContextManager[tuple[PlayMatches, int]]]
    """Plays games inside the block; with how many side by side."""


def this_machine(jobs: int) -> Host:
    """The host of a sweep on one machine; the trainers share the cores."""
    threads = max(1, usable_cores() // jobs)
    play = partial(play_in_threads, usable_cores())
    start = partial(TrainerProcess, threads=threads)
    return Host(jobs, threads, lambda _: nullcontext(start), lambda: nullcontext((play, AT_ONCE_GAMES)))


def run_jobs(
    jobs: Mapping[str, Job],
    host: Host,
    ended: Callable[[str, Measured | str, float], object],
    stopped: Callable[[], bool],
    notice: Callable[[str], object],
) -> None:
    """Run all jobs on a host. Blocks.

    ``ended`` is called with the name, the result and the seconds of each. Once ``stopped`` says so, running trainers
    are asked to save and end, and no other is started.
    """
    waiting = deque(jobs.items())
    running: dict[str, Trainer] = {}
    with host.trainers(len(jobs)) as start:
        try:
            while (waiting or running) and not stopped():
                while waiting and len(running) < host.jobs:
                    name, job = waiting.popleft()
                    running[name] = start(job)
                for name in [name for name, trainer in running.items() if trainer.ended()]:
                    trainer = running.pop(name)
                    trainer.close()
                    ended(name, trainer.result(), time.monotonic() - trainer.started)
                time.sleep(POLL_S)
        finally:
            if running:
                notice("Stopping: the runs save and end; Ctrl-C again kills them")
            _stop([*running.values()])


def _stop(trainers: Sequence[Trainer]) -> None:
    try:
        for trainer in trainers:
            trainer.ask_to_stop()
        deadline = time.monotonic() + STOP_S
        while not all(trainer.ended() for trainer in trainers) and time.monotonic() < deadline:
            time.sleep(POLL_S)
    finally:  # also after a second Ctrl-C
        for trainer in trainers:
            trainer.close()
