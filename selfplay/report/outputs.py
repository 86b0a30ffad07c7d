"""Creates the reporters of a run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich.console import Console

from selfplay.report.dashboard import DashboardReporter, LiveView
from selfplay.report.files import MetricsReporter, TensorBoardReporter, trim_metrics
from selfplay.report.plain import LogFileSink, PlainReporter, StreamSink

if TYPE_CHECKING:
    from selfplay.report.plain import Sink
    from selfplay.report.reporter import Reporter


def reporters(
    folder: Path,
    stream: TextIO,
    *,
    live: bool | None = None,
    resumed: tuple[int, int] | None = None,
    lines: Callable[[Sink], PlainReporter] = PlainReporter,
    view: Callable[[Console, Callable[[], datetime]], LiveView] = DashboardReporter,
) -> dict[str, Reporter]:
    """The reporters of the run in ``folder``, by name.

    ``live`` shows the live view instead of plain lines; by default if ``stream`` is a terminal. ``resumed`` has the
    iteration and the total steps of the checkpoint that the run resumes from. ``lines`` makes what writes the log, and
    to a terminal without a live view.
    """
    console = Console(file=stream)
    if live is None:
        live = console.is_terminal and not console.is_dumb_terminal
    metrics = folder / "metrics.jsonl"
    if resumed is not None:
        trim_metrics(metrics, resumed[0])
    # Files first, so that they are written even if the terminal is gone.
    return {
        "metrics": MetricsReporter(metrics),
        "tensorboard": TensorBoardReporter(folder / "events", resumed[1] if resumed else None),
        "log": lines(LogFileSink(folder / "log.txt")),
        "terminal": view(console, datetime.now) if live else lines(StreamSink(stream)),
    }
