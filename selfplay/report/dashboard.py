"""The live view of a run in a terminal.

A thread of rich redraws it ``REFRESH_HZ`` times a second from the last report. Notices scroll above the view.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from envs.files import printable
from selfplay.report.plain import duration
from selfplay.report.recent import Recent

if TYPE_CHECKING:
    from selfplay.report.metrics import IterationReport

REFRESH_HZ = 4
HISTORY = 16  # iterations in a sparkline
OPPONENTS = 9  # rows at most
BARS = "▁▂▃▄▅▆▇█"
PHASE_STYLES = {"collect": "cyan", "update": "magenta", "rate": "yellow", "save": "green"}


Parts = tuple[RenderableType, Sequence[Table], Sequence[Text]]  # progress, tables and warnings


class LiveView:
    """Base of live views: header, notices and the end.

    ``clock`` is monotonic, in seconds; ``now`` returns local time.
    """

    _report: Any = None  # the last one; set here, since the view draws at once
    _trend: tuple[float, ...] = ()  # of the last iterations, for a sparkline

    def __init__(
        self, console: Console, now: Callable[[], datetime], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._now = now
        self._clock = clock
        self._reported_at = clock()
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=REFRESH_HZ, transient=True)

    def header(self, lines: Sequence[str]) -> None:
        self._console.print(Text("\n".join(lines)))
        self._live.start()

    def iteration(self, report: Any) -> None:  # noqa: ANN401
        self._report, self._reported_at = report, self._clock()

    def notice(self, text: str) -> None:
        self._console.print(Text(f"[{self._now():%H:%M:%S}] {printable(text)}"), soft_wrap=True)

    def leaderboard(self, text: str) -> None:
        """End the live view, leave its last state on the screen and show the table."""
        self._end()
        self._console.print(Text(f"\n{printable(text.rstrip())}\n"), soft_wrap=True)

    def close(self) -> None:
        self._end()

    def _end(self) -> None:
        if self._live.is_started:
            self._live.stop()
            self._console.print(self._render())

    def _render(self) -> RenderableType:
        report, since = self._report, self._clock() - self._reported_at
        if report is None:
            return Panel(Text(f"First iteration: {duration(since)}"), title="Self-play")
        progress, tables, warnings = self._parts(report, since)
        footer = Text(" ").join(warnings)
        parts = Group(progress, _phases(report.phase_s), Columns(tables, padding=(0, 2)), footer)
        return Panel(parts, title="Self-play")

    def _parts(self, report: Any, since: float) -> Parts:  # noqa: ANN401
        """The contents of the view, ``since`` seconds after the report."""
        raise NotImplementedError


class DashboardReporter(LiveView):
    """The live view of a PPO run."""

    def __init__(
        self, console: Console, now: Callable[[], datetime], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._recent = Recent()
        super().__init__(console, now, clock)

    def iteration(self, report: IterationReport) -> None:
        self._recent.add(report)
        if "return_mean" in self._recent.play:
            self._trend = (*self._trend, self._recent.play["return_mean"])[-HISTORY:]
        super().iteration(report)

    def _parts(self, report: IterationReport, since: float) -> Parts:
        tables = [_losses(report), _play(report, self._recent, self._trend), _opponents(self._recent)]
        if self._recent.pace:
            tables.append(_pace(self._recent))
        return _progress(report, self._recent.steps_per_s, since), tables, _warnings(report)


def _progress(report: IterationReport, speed: float, since: float) -> RenderableType:
    of_iterations = "" if report.iterations is None else f" of {report.iterations:,}"
    of_steps = "" if report.timesteps is None else f" of {report.timesteps:,}"
    where = f"Iteration {report.iteration:,}{of_iterations}, {report.total_steps:,}{of_steps} steps"
    left = report.remaining_s(speed)
    return bar(report.done, None if left is None else left - since, where, f"{speed:,.0f} steps/s")


def bar(done: float, left_s: float | None, where: str, speed: str) -> RenderableType:
    """Progress bar for ``done`` in [0, 1] and the remaining seconds, None if unknown."""
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(ratio=1)
    grid.add_column(justify="right", no_wrap=True)
    eta = "" if left_s is None else f"  ETA {duration(max(left_s, 0.0))}"
    grid.add_row(ProgressBar(total=1.0, completed=done), Text(f"{done:4.0%}{eta}", style="bold"))
    grid.add_row(Text(where), Text(speed, style="bold"))
    return grid


def _phases(phase_s: Mapping[str, float]) -> Text:
    total = sum(phase_s.values())
    parts = [
        Text(f"{name} {seconds / (total or 1.0):.0%}", style=PHASE_STYLES.get(name, ""))
        for name, seconds in phase_s.items()
    ]
    return Text.assemble(f"Iteration {total:.1f} s: ", Text("  ").join(parts))


def _losses(report: IterationReport) -> Table:
    update = report.update
    return figures(
        "Learner",
        [
            ("loss", f"{update.loss:.4f}"),
            ("policy", f"{update.policy_loss:.4f}"),
            ("value", f"{update.value_loss:.4f}"),
            ("entropy", f"{update.entropy:.3f}"),
            ("approx. KL", f"{update.approx_kl:.4f}"),
            ("clipped", f"{update.clip_fraction:.1%}"),
            ("explained var.", f"{update.explained_variance:.2f}"),
            ("gradient norm", f"{update.grad_norm:.2f}"),
            *([("KL to teacher", f"{update.teacher_kl:.3f}")] if update.teacher_kl > 0 else []),
        ],
    )


def _play(report: IterationReport, recent: Recent, returns: Sequence[float]) -> Table:
    forms = {
        "return_mean": ("return", "{:+.2f}"),
        "episode_length": ("length, frames", "{:.0f}"),
        "decisive_share": ("decisive", "{:.0%}"),
        "stocks_taken": ("stocks taken", "{:.2f}"),
        "damage": ("damage", "{:.0f}%"),
        "self_destructs": ("self-destructs", "{:.2f}"),
    }
    rows = [(label, form.format(recent.play[name])) for name, (label, form) in forms.items() if name in recent.play]
    if returns:
        rows.insert(0, ("trend", sparkline(returns)))
    if report.elo is not None:
        rows.append(("Elo", f"{report.elo:.0f}"))
    if report.gate is not None:
        gate = report.gate
        rows.append((f"Gate {gate.candidate}", f"{gate.llr:+.2f} ({gate.low:.1f}, {gate.high:+.1f})"))
    return figures("Play", rows)


def _opponents(recent: Recent) -> Table:
    """The most recent opponents, with the mean score against each."""
    latest = list(recent.win_rate.items())[-OPPONENTS:]
    return figures("Win rate", [(name, f"{share:.0%}") for name, share in reversed(latest)])


def _pace(recent: Recent) -> Table:
    """How fights end and how fast they are, a column for each kind of opponent."""
    forms = {
        "finished": ("finished", "{:.0%}"),
        "stocks_per_minute": ("stocks a minute", "{:.2f}"),
        "damage_per_minute": ("damage a minute", "{:.0f}%"),
        "seconds_without_hit": ("without a hit, s", "{:.0f}"),
    }
    kinds = sorted(recent.pace)
    rows = [(label, *(form.format(recent.pace[kind][name]) for kind in kinds)) for name, (label, form) in forms.items()]
    return figures("Fights", [("", *kinds), *rows])


def _warnings(report: IterationReport) -> list[Text]:
    found = []
    if report.restarts or report.abandoned:
        found.append(Text(f"Runner restarts {report.restarts}, abandoned {report.abandoned}.", style="yellow"))
    if report.late or report.dropped:
        found.append(Text(f"Segments late {report.late}, too late {report.dropped}.", style="yellow"))
    if report.update.skipped:
        found.append(Text(f"{report.update.skipped} minibatches skipped.", style="red"))
    if report.update.reverted:
        found.append(Text(f"The update was reverted (KL {report.update.step_kl:.2f}).", style="red"))
    if report.cuda_used is not None and report.cuda_peak is not None:
        found.append(Text(f"CUDA {report.cuda_used / 2**20:,.0f} MiB, peak {report.cuda_peak / 2**20:,.0f} MiB."))
    return found


def figures(title: str, rows: Sequence[tuple[str, ...]]) -> Table:
    """Labels and their figures; rows are of one length."""
    table = Table(title=title, title_justify="left", title_style="bold", show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    for _ in range(max(map(len, rows), default=2) - 1):
        table.add_column(justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def sparkline(values: Sequence[float]) -> str:
    """Values as bars, scaled to their minimum and maximum."""
    if not values:
        return ""
    low, high = min(values), max(values)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((value - low) * scale)] for value in values)
