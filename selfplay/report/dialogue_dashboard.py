"""The live view of dialogue self-play in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from selfplay.report.dashboard import HISTORY, LiveView, Parts, bar, sparkline
from selfplay.report.listing import Listing

if TYPE_CHECKING:
    from selfplay.report.dialogue import DialogueReport


class DialogueDashboard(LiveView):
    """Metrics of the last iteration and of the learner, and the remaining time."""

    def iteration(self, report: DialogueReport) -> None:
        reward = report.reward if report.shared else report.seat_rewards[0]
        self._trend = (*self._trend, reward)[-HISTORY:]
        super().iteration(report)

    def _parts(self, report: DialogueReport, since: float) -> Parts:
        left = None if report.remaining_s is None else report.remaining_s - since
        of = "" if report.iterations is None else f" of {report.iterations:,}"
        where = f"Iteration {report.iteration:,}{of}, {report.total_games:,} games, {report.total_steps:,} turns"
        tables = (_play(report, self._trend), _learner(report), _endings(report))
        return bar(report.done, left, where, f"{report.games_per_s:,.0f} games/s"), tables, _warnings(report)


def _play(report: DialogueReport, rewards: Sequence[float]) -> Listing:
    games = max(report.games, 1)
    rows = (
        ("trend", sparkline(rewards)),
        *([("reward", f"{report.reward:.3f}"), ("agreed", f"{report.agreement:.1%}")] if report.shared else ()),
        ("seat 0, seat 1", f"{report.seat_rewards[0]:+.3f}, {report.seat_rewards[1]:+.3f}"),
        ("refused a game", f"{report.refused:.3f}"),
        ("turns", f"{report.turns / games:.1f}"),
        ("tokens", f"{report.tokens / games:.0f}"),
    )
    return Listing(("Play",), rows)


def _learner(report: DialogueReport) -> Listing:
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
    return Listing(("Learner",), tuple(row for row in rows if row[0] != "KL to start" or update["kl"] > 0))


def _endings(report: DialogueReport) -> Listing:
    games = max(report.games, 1)
    ordered = sorted(report.endings.items(), key=lambda item: -item[1])
    return Listing(("Endings",), tuple((reason, f"{count / games:.1%}") for reason, count in ordered))


def _warnings(report: DialogueReport) -> list[Text]:
    found = []
    if report.restarts or report.lost:
        found.append(Text(f"Runner restarts {report.restarts}, games lost {report.lost}.", style="yellow"))
    if report.update["skipped"]:
        found.append(Text(f"{report.update['skipped']:.0f} steps skipped.", style="red"))
    return found
