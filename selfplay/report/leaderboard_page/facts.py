"""The texts of the page, as escaped HTML: ratings, run, health and settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any, Final

from selfplay.league.render import (
    ANCHORS,
    AT_THE_LIMIT,
    PEOPLE,
    agreement,
    beats,
    better,
    method,
    played_for,
    plays_with_itself,
    progress,
    reference,
)
from selfplay.report.header import text
from selfplay.report.leaderboard_page.table import percent

if TYPE_CHECKING:
    from selfplay.league.leaderboard import Leaderboard
    from selfplay.report.health import HealthMonitor
    from selfplay.report.leaderboard_page.records import JsonRow, RunRecords

Pairs = Sequence[tuple[str, str]]


def paragraphs(lines: Iterable[str], kind: str = "") -> str:
    opening = f'<p class="{kind}">' if kind else "<p>"
    return "\n".join(f"{opening}{escape(line)}</p>" for line in lines)


def points(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def definitions(pairs: Pairs) -> str:
    return f"<dl>{''.join(f'<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>' for k, v in pairs)}</dl>"


def headline(board: Leaderboard) -> str:
    """The progress of the newest generation, and players that it beats."""
    found = []
    if board.method == "batch" and board.progress is not None:
        found.append(f"{progress(board)}, {better(board)} with likelihood {percent(board.progress.superiority)}.")
    if board.method == "batch" and (text := beats(board)):
        found.append(f"{text}.")
    return " ".join(found)


def about_ratings(board: Leaderboard) -> Pairs:
    """Method and goodness of fit of the ratings."""
    is_batch = board.method == "batch"
    pairs = [
        ("Method", method(board)),
        ("Scale", reference(board)),
        ("Games that count", f"{board.games:,}{'' if board.scale.by_payoff else f'; {board.draw_share:.0%} draws'}"),
    ]
    if board.scale.by_payoff:
        pairs.append(("Objective", played_for(board)))
    elif plays_with_itself(board):
        pairs.append(("Winner", "the player with the higher reward on the same state, in the same seat"))
    elif not board.external and board.finished is None:
        pairs.append(("Winner", "the player with the larger sum of rewards in the game"))
    if board.finished is not None:
        pairs.append(("Finished", f"{board.finished:.0%} of the games; {AT_THE_LIMIT}"))
    if not (board.external or board.scale.shared) and is_batch:
        pairs.append(("Anchors", ANCHORS[board.anchors].removeprefix("anchors: ")))
    if any(row.person for row in board.rows):
        pairs.append(("People", PEOPLE))
    pairs.append(("From" if board.external else "Settings", board.settings))
    fit = board.fit
    if fit.misfit_p is None:
        pairs.append(("Fit", "too few games for a test"))
    else:
        pairs.append(("Fit", agreement(fit.misfit_p)))
    if fit.side is not None:
        pairs.append(("First seat", f"worth {board.scale.gap(fit.side[0], fit.side[1:])}"))
    if board.left_out:
        pairs.append(("Left out", "; ".join(f"{count:,} games {why}" for why, count in board.left_out.items())))
    return pairs


def health(records: RunRecords, monitor: HealthMonitor) -> str:
    found = records.health(monitor)
    when = "when it ended" if records.ended else "over the last iterations of a run that has not ended"
    if found is None:
        return paragraphs(["The run has no metrics to check its health."], "quiet")
    if not found:
        return paragraphs([f"No problems found {when}."], "quiet")
    return paragraphs([f"Found {when}:"], "quiet") + paragraphs([finding.text for finding in found], "warning")


def settings(run: JsonRow) -> list[tuple[str, Pairs]]:
    """The configuration from ``run.json`` by group, without unset values."""
    config = run.get("config")
    if not isinstance(config, dict):
        return []
    return [
        (
            _GROUPS.get(group, str(group).capitalize()),
            _shown((name.replace("_", " "), v) for name, v in values.items()),
        )
        for group, values in config.items()
        if isinstance(values, dict)
    ]


def machine(records: RunRecords) -> Pairs:
    run, end = records.run, records.summary
    versions = run.get("versions")
    return _shown(
        [
            ("started", _time(run.get("started"))),
            ("ended", _time(end.get("ended"))),
            ("device", run.get("device")),
            ("processor", run.get("processor")),
            ("cores", run.get("cores")),
            ("steps", end.get("total_steps")),
            ("seconds", end.get("elapsed_s")),
            ("steps a second, median", end.get("steps_per_s_median")),
            ("games", end.get("games")),
            ("games a second, median", end.get("games_per_s_median")),
            *_nash_conv(end.get("nash_conv")),
            ("restarts of runners", end.get("restarts")),
            *(versions.items() if isinstance(versions, dict) else ()),
        ]
    )


def _nash_conv(found: Any) -> Pairs:  # noqa: ANN401
    """NashConv of the policies, if known."""
    if not isinstance(found, dict):
        return ()
    return [(f"NashConv, {name}", text(found[name])) for name in ("start", "newest", "average") if name in found]


_GROUPS: Final = {"grpo": "GRPO", "ppo": "PPO", "net": "Network"}


def _shown(pairs: Iterable[tuple[str, Any]]) -> Pairs:
    return [(str(name), text(value)) for name, value in pairs if value is not None]


def _time(value: Any) -> str | None:  # noqa: ANN401
    try:
        return f"{datetime.fromisoformat(value).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    except (TypeError, ValueError, OverflowError):
        return None
