"""Data of charts and maps: ratings by generation, training metrics downsampled for the screen, scores of all pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from selfplay.league.records import generation_number
from selfplay.report.metrics import MIRROR, PHASES

if TYPE_CHECKING:
    from selfplay.games.columns import Columns
    from selfplay.league.leaderboard import Leaderboard, LeaderboardAnalysis
    from selfplay.league.scale import Scale
    from selfplay.report.leaderboard_page.records import JsonRow, RunRecords

POINTS: Final = 160  # maximum number of points of a curve; each is a mean over neighbouring iterations
SHARES: Final = 40
"""Maximum number of points of stacked shares. They are noisy, since few episodes end in an iteration."""
PAST: Final = "past generations"
OPPONENTS: Final = "opponents/"  # of metrics: episodes against each
PHASE: Final = "time/"  # of metrics: seconds of each phase
TOP: Final = 24  # top players on a map; scripted players, people, the start and the newest generation are added
MOST: Final = 48  # maximum number of players on a map, since in external games all players count as scripted
_LOSSES: Final = {
    "losses/policy": "Policy loss",
    "losses/value": "Value loss",
    "losses/entropy": "Entropy, nats",
    "losses/approx_kl": "KL of an update",
    "losses/clip_fraction": "Clipped ratios, share",
    "losses/explained_variance": "Explained variance of the value",
    "losses/kl": "KL to the start",
    "losses/zero_variance": "Groups of one reward, share",
}
_PLAY: Final = {
    "charts/games_per_s": "Games a second",
    "charts/steps_per_s": "Steps a second",
    "play/episode_length": "Length of an episode, {unit}",
    "play/decisive_share": "Episodes with a winner, share",
}


def rating_curve(board: Leaderboard, steps_per_iteration: int | None) -> dict[str, Any]:
    """Points ``[x, rating, low, high, name]`` of the generations by age, and the levels of scripted players and people.

    x is in steps, or the generation number if the steps are unknown. ``low`` and ``high`` are None if unbounded.
    """
    points, digits = [], board.scale.decimals + 1
    for row in board.rows:
        number = generation_number(row.policy)
        if number is None:
            continue
        ends = [None if end is None else round(end, digits) for end in row.ends or (None, None)]
        points.append([number * (steps_per_iteration or 1), round(row.rating, digits), *ends, row.policy])
    levels = [[row.name, round(row.rating, digits)] for row in board.rows if row.scripted or row.person]
    return {
        "points": sorted(points),
        "levels": levels,
        "in_steps": steps_per_iteration is not None,
        "band": board.method == "batch",
        **scale_facts(board.scale),
    }


def scale_facts(scale: Scale) -> dict[str, Any]:
    """How the page's script writes ratings and results."""
    return {"unit": scale.unit, "decimals": scale.decimals, "payoff": scale.by_payoff, "shared": scale.shared}


def training(records: RunRecords, columns: Columns) -> dict[str, Any] | None:
    """Opponents, losses, speed and the figures of the game by step; None without metrics."""
    rows = records.metrics
    if not rows:
        return None
    tags = chart_tags(columns)
    points = _points(rows, POINTS, tags)
    each = -(-len(rows) // len(points))  # iterations per point
    return charts(points, _points(rows, SHARES, tags), columns) | {"each": each}


def charts(points: Sequence[Point], shares: Sequence[Point], columns: Columns) -> dict[str, Any]:
    """What the page's script draws of points of curves, and of points of stacked shares."""
    return {
        "x": [point.steps for point in points],
        "opponents": _shares(shares, OPPONENTS, ("current", PAST)),
        "phases": _shares(shares, PHASE, tuple(f"{phase}_s" for phase in PHASES)),
        "losses": _series(points, _LOSSES),
        "play": _series(points, _play(columns)),
    }


@dataclass(slots=True)
class Point:
    """Figures of neighbouring iterations: their sums, and in how many iterations each was known."""

    steps: int = 0  # at the last iteration
    sums: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, row: JsonRow, tags: Collection[str]) -> Point:
        """A point of one iteration. Of all past generations together there is one share."""
        point = cls(int(row.get("total_steps") or row["iteration"]))
        for tag, value in row.items():
            if isinstance(value, int | float) and (tag in tags or tag.startswith((OPPONENTS, PHASE))):
                past = generation_number(tag.removeprefix(OPPONENTS)) is not None
                name = OPPONENTS + PAST if past else tag
                point.sums[name] += value  # type: ignore[assignment]
                point.counts[name] += 1
        return point

    def add(self, later: Point) -> None:
        self.steps = later.steps
        self.sums.update(later.sums)
        self.counts.update(later.counts)

    def mean(self, tag: str) -> float | None:
        return _short(self.sums[tag] / self.counts[tag]) if self.counts[tag] else None


def chart_tags(columns: Columns) -> frozenset[str]:
    """Metrics that have a chart of their own."""
    return frozenset((*_LOSSES, *_play(columns)))


def _play(columns: Columns) -> dict[str, str]:
    """Headings of charts of play, by tag."""
    return {
        **{f"play/{column.name}": column.chart for column in columns.means if column.chart},
        **{tag: name.format(unit=columns.unit) for tag, name in _PLAY.items()},
        **{f"{rate.name}/{MIRROR}": rate.chart for rate in columns.rates if rate.chart},
    }


def _points(rows: Sequence[JsonRow], most: int, tags: Collection[str]) -> list[Point]:
    """At most ``most`` points of about as many rows each."""
    found = []
    for part in np.array_split(np.arange(len(rows)), min(most, len(rows))):
        point = Point()
        for i in part:
            point.add(Point.of(rows[i], tags))
        found.append(point)
    return found


def _series(points: Sequence[Point], names: dict[str, str]) -> list[dict[str, Any]]:
    known = [tag for tag in names if any(point.counts[tag] for point in points)]
    return [{"name": names[tag], "y": [point.mean(tag) for point in points]} for tag in known]


def _shares(points: Sequence[Point], prefix: str, order: Sequence[str]) -> dict[str, Any]:
    """Shares of the metrics that start with ``prefix``. Each point adds up to 1, or has None: nothing was counted."""
    names = {tag.removeprefix(prefix) for point in points for tag in point.sums if tag.startswith(prefix)}
    known = [name for name in order if name in names]
    named = (*known, *sorted(names - set(known)))
    totals = [sum(point.sums[prefix + name] for name in named) for point in points]
    return {
        "x": [point.steps for point in points] if named else [],
        "series": [
            {
                "name": name.removesuffix("_s"),
                "y": [
                    round(point.sums[prefix + name] / total, 4) if total > 0 else None
                    for point, total in zip(points, totals, strict=True)
                ],
            }
            for name in named
        ],
    }


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def maps(study: LeaderboardAnalysis) -> dict[str, Any]:
    """Players by rating, and all pairs with games.

    ``pairs`` has a row ``[i, j, score, games, seeds, expected, z]`` for each pair, with i above j in the table. Scores,
    or mean payoffs, are of i; z is the deviation from the expected one in standard errors. ``spread`` is the standard
    deviation of a game's payoff.
    """
    board = study.board
    shown = {*board.top(TOP), *(row for row in board.stronger() if row.met)}
    rows = [row for row in board.rows if row in shown][:MOST]
    known = {row.policy for row in rows}
    played = [{met.a, met.b} for met in study.diagnosis.encounters if {met.a, met.b} <= known]
    rows = [row for row in rows if any(row.policy in pair for pair in played)]
    place = {row.policy: i for i, row in enumerate(rows)}
    pairs = []
    for met in study.diagnosis.encounters:
        if met.a not in place or met.b not in place:
            continue
        i, j, score, expected, z = place[met.a], place[met.b], met.score, met.expected, met.z
        if i > j:
            i, j, score, expected = j, i, board.scale.other_result(score), board.scale.other_result(expected)
            z = z if board.scale.shared else -z
        pairs.append([i, j, round(score, 4), met.games, met.seeds, round(expected, 4), round(z, 2)])
    return {
        "players": [row.name for row in rows],
        "left_out": len(study.board.rows) - len(rows),
        "pairs": sorted(pairs),
        "spread": board.scale.payoff_of_a_point / 2.0,
        **scale_facts(board.scale),
    }


def cycles(study: LeaderboardAnalysis) -> list[str]:
    shown = study.board.scale.result_text
    return [
        f"{a} beats {b} ({shown(ab)}), {b} beats {c} ({shown(bc)}), {c} beats {a} ({shown(ca)})"
        for (a, b, c), (ab, bc, ca) in ((cycle.players, cycle.scores) for cycle in study.board.fit.cycles)
    ]
