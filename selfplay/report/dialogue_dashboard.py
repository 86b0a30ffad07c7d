"""The live view of dialogue self-play in a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from selfplay.report.dashboard import HISTORY, LiveView, bar, figures, phases, sparkline, waiting

if TYPE_CHECKING:
    from rich.table import Table

    from selfplay.report.dialogue import DialogueReport


class DialogueDashboard(LiveView):
    """Metrics of the last iteration and of the learner, and the remaining time."""

    def __init__(
        self, console: Console, now: Callable[[], datetime], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._report: DialogueReport | None = None
        self._rewards: list[float] = []
        super().__init__(console, now, clock)  # it draws at once

    def iteration(self, report: DialogueReport) -> None:
        self._rewards = [*self._rewards, report.reward if report.shared else report.seat_rewards[0]][-HISTORY:]
        self._report, self._reported_at = report, self._clock()

    def _render(self) -> RenderableType:
        report = self._report
        if report is None:
            return waiting(self._since)
        left = None if report.remaining_s is None else report.remaining_s - self._since
        of = "" if report.iterations is None else f" of {report.iterations:,}"
        where = f"Iteration {report.iteration:,}{of}, {report.total_games:,} games, {report.total_steps:,} turns"
        tables = [_play(report, self._rewards), _learner(report), _endings(report)]
        return Panel(
            Group(
                bar(
                    report.done,
                    None if left is None else left - self._since,
                    where,
                    f"{report.games_per_s:,.0f} games/s",
                ),
                phases(report.phase_s),
                Columns(tables, padding=(0, 2)),
                Text(" ").join(_warnings(report)),
            ),
            title="Self-play",
        )


def _play(report: DialogueReport, rewards: list[float]) -> Table:
    games = max(report.games, 1)
    rows = [
        ("trend", sparkline(rewards)),
        *([("reward", f"{report.reward:.3f}"), ("agreed", f"{report.agreement:.1%}")] if report.shared else ()),
        ("seat 0, seat 1", f"{report.seat_rewards[0]:+.3f}, {report.seat_rewards[1]:+.3f}"),
        ("refused a game", f"{report.refused:.3f}"),
        ("turns", f"{report.turns / games:.1f}"),
        ("tokens", f"{report.tokens / games:.0f}"),
    ]
    if report.elo is not None:
        rows.append(("Elo", f"{report.elo:.0f}"))
    return figures("Play", rows)


def _learner(report: DialogueReport) -> Table:
    update = report.update
    rows = [
        ("loss", f"{update['loss']:.4f}"),
        ("entropy", f"{update['entropy']:.3f}"),
        ("approx. KL", f"{update['approx_kl']:.4f}"),
        ("KL to start", f"{update['kl']:.4f}"),
        ("clipped", f"{update['clip_fraction']:.1%}"),
        ("one reward", f"{report.zero_variance:.0%} of groups"),
        ("gradient norm", f"{update['grad_norm']:.2f}"),
    ]
    return figures("Learner", [row for row in rows if row[0] != "KL to start" or update["kl"] > 0])


def _endings(report: DialogueReport) -> Table:
    games = max(report.games, 1)
    ordered = sorted(report.endings.items(), key=lambda item: -item[1])
    return figures("Endings", [(reason, f"{count / games:.1%}") for reason, count in ordered])


def _warnings(report: DialogueReport) -> list[Text]:
    found = []
    if report.restarts or report.lost:
        found.append(Text(f"Runner restarts {report.restarts}, games lost {report.lost}.", style="yellow"))
    if report.update["skipped"]:
        found.append(Text(f"{report.update['skipped']:.0f} steps skipped.", style="red"))
    return found
