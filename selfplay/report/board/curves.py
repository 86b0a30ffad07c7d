"""The curves of a page: the rating of each generation, and what training was like, thinned to what a screen shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from selfplay.league.records import generation_number
from selfplay.report.metrics import PHASES

if TYPE_CHECKING:
    from selfplay.league.leaderboard import Leaderboard
    from selfplay.report.board.records import Records, Row

POINTS: Final = 160
"""Of a curve at most: each is the mean of as many iterations."""
_LOSSES: Final = {
    "losses/policy": "Policy loss",
    "losses/value": "Value loss",
    "losses/entropy": "Entropy, nats",
    "losses/approx_kl": "KL of an update",
    "losses/clip_fraction": "Clipped ratios, share",
    "losses/explained_variance": "Explained variance of the value",
}
_PLAY: Final = {
    "charts/steps_per_s": "Steps a second",
    "play/episode_length": "Length of an episode, frames",
    "play/decisive_share": "Episodes with a winner, share",
}


def rating_curve(board: Leaderboard, steps_per_iteration: int | None) -> dict[str, Any]:
    """Generations by age: ``[x, elo, low, high, name]``, an end None where the games set none; and the levels.

    x is in steps, or the generation's number where steps are not known.
    """
    points = []
    for row in board.rows:
        number = generation_number(row.policy)
        if number is None:
            continue
        low = row.low if row.bound in ("both", "below") else None
        high = row.high if row.bound in ("both", "above") else None
        ends = [None if end is None else round(end, 1) for end in (low, high)]
        points.append([number * (steps_per_iteration or 1), round(row.elo, 1), *ends, row.policy])
    levels = [[row.policy, round(row.elo, 1)] for row in board.rows if row.scripted]
    has_band = board.method == "batch"
    return {"points": sorted(points), "levels": levels, "in_steps": steps_per_iteration is not None, "band": has_band}


def training(records: Records) -> dict[str, Any] | None:
    """Opponents, losses and speed over steps; None without metrics."""
    rows = records.metrics
    if not rows:
        return None
    parts = np.array_split(np.arange(len(rows)), min(POINTS, len(rows)))
    groups = [[rows[i] for i in part] for part in parts]
    return {
        "x": [group[-1].get("total_steps", group[-1]["iteration"]) for group in groups],
        "each": -(-len(rows) // len(groups)),  # iterations of a point
        "opponents": _shares(groups, "opponents/", _kind),
        "phases": _shares(groups, "time/", lambda name: name.removesuffix("_s"), PHASES),
        "losses": _series(groups, _LOSSES),
        "play": _series(groups, _PLAY),
    }


def _kind(opponent: str) -> str:
    """All past generations are one colour: hundreds of names are none."""
    return "past generations" if generation_number(opponent) is not None else opponent


def _series(groups: Sequence[Sequence[Row]], names: dict[str, str]) -> list[dict[str, Any]]:
    found = []
    for tag, name in names.items():
        values = [[row[tag] for row in group if isinstance(row.get(tag), int | float)] for group in groups]
        if any(values):
            found.append({"name": name, "y": [_short(sum(v) / len(v)) if v else None for v in values]})
    return found


def _shares(groups: Sequence[Sequence[Row]], prefix: str, kind: Any, order: Sequence[str] = ()) -> list[dict[str, Any]]:  # noqa: ANN401
    """Shares of the figures that start with ``prefix``, summed by kind: those of one point add up to 1."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(groups))
    for i, group in enumerate(groups):
        for row in group:
            for tag, value in row.items():
                if tag.startswith(prefix) and isinstance(value, int | float):
                    sums[kind(tag.removeprefix(prefix))][i] += value
    totals = [sum(column) for column in zip(*sums.values(), strict=True)]
    first = {name: i for i, name in enumerate((*order, "current", "past generations"))}
    return [
        {"name": name, "y": [round(value / total, 4) if total else 0.0 for value, total in zip(y, totals, strict=True)]}
        for name, y in sorted(sums.items(), key=lambda item: (first.get(item[0], len(first)), item[0]))
    ]


def _short(value: float) -> float:
    return float(f"{value:.5g}")
