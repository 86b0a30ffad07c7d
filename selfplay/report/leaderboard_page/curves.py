"""Data of charts and maps: ratings by generation, training metrics downsampled for the screen, scores of all pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
    groups = _groups(rows, POINTS)
    return {
        "x": [_steps(group) for group in groups],
        "each": -(-len(rows) // len(groups)),  # iterations per point
        "opponents": _shares(rows, "opponents/", ("current", PAST)),
        "phases": _shares(rows, "time/", tuple(f"{phase}_s" for phase in PHASES)),
        "losses": _series(groups, _LOSSES),
        "play": _series(groups, _play(columns)),
    }


def _play(columns: Columns) -> dict[str, str]:
    """Headings of charts of play, by tag."""
    return {
        **{f"play/{column.name}": column.chart for column in columns.means if column.chart},
        **{tag: name.format(unit=columns.unit) for tag, name in _PLAY.items()},
        **{f"{rate.name}/{MIRROR}": rate.chart for rate in columns.rates if rate.chart},
    }


def _groups(rows: Sequence[JsonRow], most: int) -> list[list[JsonRow]]:
    """Split the rows into at most ``most`` groups of about equal size."""
    return [[rows[i] for i in part] for part in np.array_split(np.arange(len(rows)), min(most, len(rows)))]


def _steps(group: Sequence[JsonRow]) -> int:
    return int(group[-1].get("total_steps") or group[-1]["iteration"])


def _series(groups: Sequence[Sequence[JsonRow]], names: dict[str, str]) -> list[dict[str, Any]]:
    found = []
    for tag, name in names.items():
        values = [[row[tag] for row in group if isinstance(row.get(tag), int | float)] for group in groups]
        if any(values):
            found.append({"name": name, "y": [_short(sum(v) / len(v)) if v else None for v in values]})
    return found


def _shares(rows: Sequence[JsonRow], prefix: str, order: Sequence[str]) -> dict[str, Any]:
    """Shares of the metrics that start with ``prefix``, past generations as one series; each point adds up to 1."""
    found: list[tuple[int, Counter[str]]] = []
    for group in _groups(rows, SHARES):
        sums: Counter[str] = Counter()
        for row in group:
            for tag, value in row.items():
                if tag.startswith(prefix) and isinstance(value, int | float):
                    name = tag.removeprefix(prefix)
                    sums[PAST if generation_number(name) is not None else name] += value  # type: ignore[assignment]
        if sum(sums.values()) > 0:
            found.append((_steps(group), sums))
    names = {name for _, sums in found for name in sums}
    known = [name for name in order if name in names]
    totals = [sum(sums.values()) for _, sums in found]
    return {
        "x": [steps for steps, _ in found],
        "series": [
            {
                "name": name.removesuffix("_s"),
                "y": [round(sums[name] / total, 4) for (_, sums), total in zip(found, totals, strict=True)],
            }
            for name in (*known, *sorted(names - set(known)))
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
