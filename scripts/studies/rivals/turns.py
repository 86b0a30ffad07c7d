"""Programs that take turns on the machine: one runs, the others are stopped.

Each program has a process group of its own, which is stopped (SIGSTOP) and continued as a whole.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.studies.rivals.venvs import PeerError, last_error
from selfplay.runner.process_reaper import ProcessReaper

GRACE_S = 30.0


def sleep_beside(process: subprocess.Popen[Any], seconds: float) -> None:
    """Wait for so long, or until the process ends."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


@dataclass(frozen=True, slots=True)
class Entry:
    """A program to be started: name, command, environment variables, and the file for its output."""

    name: str
    words: Sequence[str]
    variables: dict[str, str]
    log: Path


class Turn:
    """A started program, which is stopped until ``go_on``."""

    def __init__(self, entry: Entry, folder: Path) -> None:
        self.name, self._log = entry.name, entry.log
        self.active = 0.0  # seconds that it has run
        self._reaper = ProcessReaper()  # ends the stopped program if this process is killed
        with entry.log.open("wb") as log:
            self._process = subprocess.Popen(
                entry.words, cwd=folder, env=entry.variables, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self._reaper.watch(self._process.pid)
        self._signal(signal.SIGSTOP)

    def go_on(self, seconds: float, sleep: Callable[[subprocess.Popen[Any], float], None]) -> None:
        """Let it run for so long.

        Raises:
            PeerError: it has ended; with its last error message.
        """
        self._signal(signal.SIGCONT)
        try:
            sleep(self._process, seconds)
            if self._process.poll() is not None:
                error = last_error(self._log.read_text(encoding="utf-8", errors="replace"))
                raise PeerError(f"{self.name} ended early: {error}")
        finally:
            self._signal(signal.SIGSTOP)
        self.active += seconds

    def end(self) -> None:
        """End it and its child processes: by SIGTERM, and after ``GRACE_S`` by force."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)
        sleep_beside(self._process, GRACE_S)
        self._reaper.close()
        self._process.wait()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def take_turns(
    entries: Sequence[Entry],
    folder: Path,
    *,
    turn: float,
    marks: Sequence[float],
    at_mark: Callable[[str, float], None],
    sleep: Callable[[subprocess.Popen[Any], float], None] = sleep_beside,
) -> None:
    """Let programs run in turn until each has been active up to the last mark; then end them. Blocks.

    Args:
        entries: The programs.
        folder: Where they run.
        turn: Seconds of a turn.
        marks: Active seconds after which a program is stopped for ``at_mark``, ascending.
        at_mark: Called with the name and the mark.
        sleep: Waits for a process or a time.

    Raises:
        PeerError: a program ended early.
    """
    with ExitStack() as stack:
        programs = []
        for entry in entries:
            programs.append(Turn(entry, folder))
            stack.callback(programs[-1].end)
        for part in parts(turn, marks):
            for program in programs:
                for until in part:
                    program.go_on(until - program.active, sleep)
                    if until in marks:
                        at_mark(program.name, until)


def parts(turn: float, marks: Sequence[float]) -> list[list[float]]:
    """The stops of each turn in active seconds: the marks within it, and its end."""
    last, begins = marks[-1], 0.0
    found = []
    while begins < last:
        ends = min(begins + turn, last)
        found.append([*(mark for mark in marks if begins < mark < ends), ends])
        begins = ends
    return found
