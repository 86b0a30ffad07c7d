"""The live view of a run in a terminal.

A thread of rich redraws it ``REFRESH_HZ`` times a second from the last report, in the size that the terminal then has.
Notices scroll above the view.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console, ConsoleRenderable, Group, RenderableType, RenderHook
from rich.control import Control
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from selfplay.games.columns import NONE, Column, Columns
from selfplay.games.files import printable
from selfplay.report.listing import Listing, side_by_side
from selfplay.report.metrics import Recent, TimeShares
from selfplay.report.plain import duration

if TYPE_CHECKING:
    from selfplay.report.metrics import IterationReport, RatingReport

REFRESH_HZ = 4
HISTORY = 16  # iterations in a sparkline
RATINGS = 48  # in a sparkline, at most
BORDER = (4, 2)  # columns and lines of the panel
OPPONENTS = 9  # rows at most
KEPT = 200  # lines above the view
BARS = "▁▂▃▄▅▆▇█"
PHASE_STYLES = {"collect": "cyan", "update": "magenta", "rate": "yellow", "save": "green"}


Parts = tuple[RenderableType, Sequence[Listing], Sequence[Text]]  # progress, tables and warnings


class Scrollback(RenderHook):
    """The last lines above the view. It starts before the view's ``Live`` and ends after it.

    When its size changes, a terminal may wrap or cut the lines of the old view, so their positions are unknown. The
    screen is therefore cleared and the last lines are printed again. ``view`` returns the view as it is now.
    """

    def __init__(self, console: Console, view: Callable[[], RenderableType]) -> None:
        self._console = console
        self._view = view
        self._lines: deque[str] = deque(maxlen=KEPT)
        self._size = console.size

    def print(self, text: str) -> None:
        self._lines += text.split("\n")
        self._console.print(Text(text), soft_wrap=True)

    def start(self) -> None:
        self._size = self._console.size
        self._console.push_render_hook(self)

    def stop(self) -> None:
        self._console.pop_render_hook()

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        size = self._console.size
        if size == self._size:
            return renderables
        self._size = size
        room = size.height - len(self._console.render_lines(self._view()))
        last: list[ConsoleRenderable] = []
        for line in reversed(self._lines):
            room -= max(1, -(-cell_len(line) // size.width))
            if room < 0:
                break
            last.insert(0, Text(line))
        return [Control.home(), Control.clear(), *last, *renderables]


class LiveView:
    """Base of live views: header, notices and the end. ``clock`` is monotonic; ``now`` returns local time."""

    _report: Any = None  # the last one; set here, since the view draws at once
    _playing: str = ""  # how far the current iteration is
    _trend: tuple[float, ...] = ()  # of the last iterations, for a sparkline
    _ratings: tuple[RatingReport, ...] = ()  # the last ones

    def __init__(
        self, console: Console, now: Callable[[], datetime], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._now = now
        self._clock = clock
        self._reported_at = clock()
        self._time = TimeShares()
        self._above = Scrollback(console, self._fitting)
        self._live = Live(console=console, get_renderable=self._fitting, refresh_per_second=REFRESH_HZ, transient=True)

    def header(self, lines: Sequence[str]) -> None:
        self._above.print("\n".join(lines))
        self._above.start()
        self._live.start()

    def playing(self, text: str) -> None:
        self._playing = text

    def iteration(self, report: Any) -> None:  # noqa: ANN401
        self._playing = ""
        self._time.add(report.phase_s)
        self.rated(report)

    def rated(self, report: Any) -> None:  # noqa: ANN401
        if report.rating not in (None, *self._ratings[-1:]):
            self._ratings = (*self._ratings, report.rating)[-RATINGS:]
        self._report, self._reported_at = report, self._clock()

    def notice(self, text: str) -> None:
        self._above.print(f"[{self._now():%H:%M:%S}] {printable(text)}")

    def leaderboard(self, text: str) -> None:
        """End the live view, leave its last state on the screen and show the table."""
        self.close()
        self._console.print(Text(f"\n{printable(text.rstrip())}\n"), soft_wrap=True)

    def close(self) -> None:
        if self._live.is_started:
            self._live.stop()
            self._above.stop()
            self._console.print(self._render(None))

    def _fitting(self) -> RenderableType:
        """The view for the current size of the screen, less one line for the last notice."""
        return self._render(self._console.height - 1)

    def _render(self, height: int | None) -> RenderableType:
        """The view in at most this number of lines; None: with everything."""
        report, since = self._report, self._clock() - self._reported_at
        if report is None:
            return Panel(Text(self._playing or f"First iteration: {duration(since)}"), title="Self-play")
        progress, tables, warnings = self._parts(report, since)
        width = self._console.width - BORDER[0]
        parts = [
            progress,
            *([Text(self._playing, no_wrap=True, overflow="ellipsis")] if self._playing else []),
            *_rating(self._ratings, report.elapsed_s + since, width),
            _phases(report.phase_s, self._time),
        ]
        footer = [Text(" ").join(warnings)] if warnings else []
        if height is not None:
            options = self._console.options.update(width=width)
            height -= len(self._console.render_lines(Group(*parts, *footer), options)) + BORDER[1] + 1
        if self._ratings:
            tables = (_beats(self._ratings[-1]), *tables)
        return Panel(Group(*parts, Text(), side_by_side(tables, width, height), *footer), title="Self-play")

    def _parts(self, report: Any, since: float) -> Parts:  # noqa: ANN401
        """The contents of the view, ``since`` seconds after the report."""
        raise NotImplementedError


class DashboardReporter(LiveView):
    """The live view of a PPO run; ``columns`` are the figures of the game."""

    def __init__(
        self,
        console: Console,
        now: Callable[[], datetime],
        clock: Callable[[], float] = time.monotonic,
        columns: Columns = NONE,
    ) -> None:
        self._recent = Recent()
        self._columns = columns
        super().__init__(console, now, clock)

    def iteration(self, report: IterationReport) -> None:
        self._recent.add(report)
        if "return_mean" in self._recent.play:
            self._trend = (*self._trend, self._recent.play["return_mean"])[-HISTORY:]
        super().iteration(report)

    def _parts(self, report: IterationReport, since: float) -> Parts:
        recent, columns = self._recent, self._columns
        play, pace = _play(report, recent, self._trend, columns), _pace(recent, columns)
        tables = [play, pace, _losses(report), _opponents(recent)]
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


def _phases(phase_s: Mapping[str, float], time: TimeShares) -> Text:
    """Seconds of the last iteration, and how the last minute was spent."""
    parts = [Text(f"{name} {share:.0%}", style=PHASE_STYLES.get(name, "")) for name, share in time.shares.items()]
    seconds = f"{sum(phase_s.values()):.2f} s an iteration: "
    return Text.assemble(seconds, Text("  ").join(parts), no_wrap=True, overflow="ellipsis")


def _rating(ratings: Sequence[RatingReport], elapsed_s: float, width: int) -> list[Text]:
    """The last rating with its interval and age, and those before as a sparkline as long as there is room."""
    if not ratings:
        return []
    last = ratings[-1]
    age = duration(max(elapsed_s - last.elapsed_s, 0.0))
    beats = "" if last.beats is None else f" beats {last.beats.player}"
    text = f"{last}  {last.generation}{beats}, {age} ago  "
    room = max(width - len(text), 0)
    history = sparkline([rating.rating for rating in ratings[-room:]]) if room else ""
    return [Text.assemble((text, "bold"), (history, "yellow"), no_wrap=True, overflow="ellipsis")]


def _beats(rating: RatingReport) -> Listing:
    """Results against scripted players; with a shared reward neither player beats the other."""
    scale, rows = rating.scale, []
    even = 0.0 if scale.by_payoff else 0.5
    for score in rating.scores:
        style = "green" if score.low > even else "red" if score.high < even else "yellow"
        low = f"{score.low:{scale.form}}" if scale.by_payoff else f"{100 * score.low:.0f}"
        result = Text(scale.result_text(score.score), style="" if scale.shared else style)
        rows.append((score.player, result, f"{low} to {scale.result_text(score.high)}", f"{score.games:,}"))
    title, unit = "With" if scale.shared else "Beats", scale.unit if scale.by_payoff else "score"
    return Listing((title, unit, "95%", "games"), tuple(rows))


def _losses(report: IterationReport) -> Listing:
    update = report.update
    return Listing(
        ("Learner",),
        (
            ("loss", f"{update.loss:.4f}"),
            ("policy", f"{update.policy_loss:.4f}"),
            ("value", f"{update.value_loss:.4f}"),
            ("entropy", f"{update.entropy:.3f}"),
            ("approx. KL", f"{update.approx_kl:.4f}"),
            ("clipped", f"{update.clip_fraction:.1%}"),
            ("explained var.", f"{update.explained_variance:.2f}"),
            ("gradient norm", f"{update.grad_norm:.2f}"),
            *([("KL to teacher", f"{update.teacher_kl:.3f}")] if update.teacher_kl > 0 else []),
        ),
    )


def _play(report: IterationReport, recent: Recent, returns: Sequence[float], columns: Columns) -> Listing:
    means = (
        Column("return_mean", "return", "{:+.2f}"),
        Column("decisive_share", "decisive", "{:.0%}"),
        *columns.means,
        Column("episode_length", f"length, {columns.unit}", "{:.0f}"),
    )
    shown = (column for column in means if column.label and column.name in recent.play)
    rows = [(column.label, column.form.format(recent.play[column.name])) for column in shown]
    if returns:
        rows.insert(0, ("trend", sparkline(returns)))
    if report.gate is not None:
        gate = report.gate
        rows.insert(0, (f"Gate {gate.candidate}", f"{gate.llr:+.2f} ({gate.low:.1f}, {gate.high:+.1f})"))
    return Listing(("Play",), tuple(rows))


def _opponents(recent: Recent) -> Listing:
    """The most recent opponents, with the mean score against each, and the mean payoff in games judged by payoffs."""
    latest = list(recent.win_rate.items())[-OPPONENTS:]
    if not recent.payoff:
        return Listing(("Win rate",), tuple((name, f"{share:.0%}") for name, share in reversed(latest)))
    rows = [(name, f"{share:.0%}", f"{recent.payoff[name]:+z.2f}") for name, share in reversed(latest)]
    return Listing(("Opponents", "wins", "payoff"), tuple(rows))


def _pace(recent: Recent, columns: Columns) -> Listing:
    """The game's rates, with a column for each kind of opponent."""
    kinds = sorted(recent.pace)
    rows = [(rate.label, *(rate.form.format(recent.pace[kind][rate.name]) for kind in kinds)) for rate in columns.rates]
    return Listing((columns.title, *kinds), tuple(rows) if kinds else ())


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


def sparkline(values: Sequence[float]) -> str:
    """Values as bars, scaled to their minimum and maximum."""
    if not values:
        return ""
    low, high = min(values), max(values)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((value - low) * scale)] for value in values)
