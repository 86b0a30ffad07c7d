"""Progress of long work, with an estimate of the remaining time."""

from __future__ import annotations

import sys
import time
from typing import Final, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from selfplay.report.plain import PlainReporter, StreamSink

FIRST_S: Final = 2.0  # until the first line without a terminal
EVERY_S: Final = 15.0  # between two lines


def time_left(seconds: float, done: float, total: float) -> str:
    """``, about 40 s left`` after ``seconds`` in which ``done`` of ``total`` was done; "" where nothing can be said."""
    if done <= 0 or done >= total:
        return ""
    left = seconds * (total - done) / done
    return f", about {left:.0f} s left" if left < 120 else f", about {left / 60:.0f} min left"


class Ticker:
    """A progress bar in a terminal, else a line after ``FIRST_S`` and then every ``EVERY_S``, with an estimate.

    Other texts may be printed while it is open; they are shown above the bar.
    """

    def __init__(self, stream: TextIO, label: str, total: int = 0) -> None:
        self._label, self._total = label, total
        self._lines = PlainReporter(StreamSink(stream))
        self._started = time.monotonic()
        self._next = self._started + FIRST_S
        console = Console(file=stream)
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            console=console, transient=True, disable=not console.is_terminal or console.is_dumb_terminal,
            redirect_stdout=sys.stdout.isatty(),
        )  # fmt: skip
        self._task = self._bar.add_task(label, total=total or None)

    def __enter__(self) -> Ticker:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def at(self, done: int, total: int | None = None) -> None:
        """Show that ``done`` of ``total`` are done; None: the same total as before."""
        self._total = self._total if total is None else total
        self._bar.update(self._task, completed=done, total=total)
        now = time.monotonic()
        if self._bar.disable and now >= self._next:
            self._next = now + EVERY_S
            left = time_left(now - self._started, done, self._total)
            self._lines.notice(f"{self._label}: {done:,} of {self._total:,}{left}")
