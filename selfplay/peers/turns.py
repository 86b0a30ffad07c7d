"""Programs that take turns on the machine: one goes on, the others stand still.

Each program has a process group of its own, which is stopped and continued as a whole.
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

from selfplay.peers.venvs import PeerError, last_error
from selfplay.runner.keeper import Keeper

GRACE_S = 30.0


def sleep_beside(process: subprocess.Popen[Any], seconds: float) -> None:
    """Wait for so long, or until the process has ended."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


@dataclass(frozen=True, slots=True)
class Entry:
    """A program to be started: its name, its words and environment, and the file that its output goes to."""

    name: str
    words: Sequence[str]
    variables: dict[str, str]
    log: Path


class Turn:
    """A program that has been started; it stands still until it is let go on."""

    def __init__(self, entry: Entry, folder: Path) -> None:
        self.name, self._log = entry.name, entry.log
        self.active = 0.0  # seconds that it has been going
        self._keeper = Keeper()  # one that stands still would do so for ever, if this process were killed
        with entry.log.open("wb") as log:
            self._process = subprocess.Popen(
                entry.words, cwd=folder, env=entry.variables, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self._keeper.watch(self._process.pid)
        self._signal(signal.SIGSTOP)

    def go_on(self, seconds: float, sleep: Callable[[subprocess.Popen[Any], float], None]) -> None:
        """Let it go on for so long.

        Raises:
            PeerError: it has ended; the last thing that it said.
        """
        self._signal(signal.SIGCONT)
        try:
            sleep(self._process, seconds)
            if self._process.poll() is not None:
                said = last_error(self._log.read_text(encoding="utf-8", errors="replace"))
                raise PeerError(f"{self.name} ended before its time: {said}")
        finally:
            self._signal(signal.SIGSTOP)
        self.active += seconds

    def end(self) -> None:
        """End it, and what it has started: by request, and by force where that does not help."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)
        sleep_beside(self._process, GRACE_S)
        self._keeper.close()
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
    """Let programs go on in turn until each has been active up to the last mark; then end them. Blocks.

    Args:
        entries: The programs.
        folder: Where they run.
        turn: Seconds of a turn.
        marks: Active seconds at which a program stands still to be looked at, ascending.
        at_mark: Is told its name and the mark.
        sleep: Waits beside a process.

    Raises:
        PeerError: a program ended before its time.
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
    """What each turn of a program stops at, in active seconds: the marks within it, and its end."""
    last, begins = marks[-1], 0.0
    found = []
    while begins < last:
        ends = min(begins + turn, last)
        found.append([*(mark for mark in marks if begins < mark < ends), ends])
        begins = ends
    return found
