"""Creates the reporters of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich.console import Console

from selfplay.report.dashboard import DashboardReporter, LiveView
from selfplay.report.files import MetricsReporter, TensorBoardReporter, trim_metrics
from selfplay.report.plain import LogFileSink, PlainReporter, StreamSink
from selfplay.report.trackers.find import FILES, JSONL, TENSORBOARD

if TYPE_CHECKING:
    from selfplay.report.plain import Sink
    from selfplay.report.reporter import Reporter


def reporters(
    folder: Path,
    stream: TextIO,
    *,
    live: bool | None = None,
    resumed: tuple[int, int] | None = None,
    report_to: Sequence[str] = FILES,
    lines: Callable[[Sink], PlainReporter] = PlainReporter,
    view: Callable[[Console, Callable[[], datetime]], LiveView] = DashboardReporter,
) -> dict[str, Reporter]:
    """The reporters of the run in ``folder``, by name.

    ``live`` shows the live view instead of plain lines; by default if ``stream`` is a terminal. ``resumed`` has the
    iteration and the total steps of the checkpoint that the run resumes from. ``lines`` makes what writes the log, and
    to a terminal without a live view. ``report_to`` names the files of figures, among others that are none.
    """
    console = Console(file=stream)
    if live is None:
        live = console.is_terminal and not console.is_dumb_terminal
    metrics = folder / "metrics.jsonl"
    if resumed is not None:
        trim_metrics(metrics, resumed[0])
    # Files first, so that they are written even if the terminal is gone.
    made: dict[str, Reporter] = {"metrics": MetricsReporter(metrics)} if JSONL in report_to else {}
    if TENSORBOARD in report_to:
        made["tensorboard"] = TensorBoardReporter(folder / "events", resumed[1] if resumed else None)
    return made | {
        "log": lines(LogFileSink(folder / "log.txt")),
        "terminal": view(console, datetime.now) if live else lines(StreamSink(stream)),
    }
