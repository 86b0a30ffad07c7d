"""The height of the hull's bottom on each frame of each action in the air, from landings and near misses.

The fit starts from a curve over the frames of an action: the published one (``published``), otherwise that of the
character with the same animations, otherwise one height. It adds to that curve what breaks the fewest bounds and
changes least from frame to frame, so a published curve stays as it is until replays contradict it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fidelity.coverage import action_name
from scripts.studies.fit_character.bounds import NONE, bounds
from scripts.studies.fit_character.published import read_published
from selfplay_melee import actions as a
from selfplay_melee.tables import CHARACTERS
from selfplay_melee.tables.fits import DEFAULT_HULL
from selfplay_melee.tables.layout import HULL_FRAMES

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay

STEP: Final = 0.05  # units between the heights that are tried
HIGHEST: Final = 16.0
STEPS: Final = np.arange(-320, 321) * STEP  # units that are tried above and below the curve that a fit starts from
WORST: Final = 1.0  # units: a bound that is broken by more counts no more, it is an error of the search
STIFFNESS: Final = 0.7  # cost of a change of one unit from one frame to the next
LEANS: Final = np.arange(-4.0, 4.01, 0.5)  # units that leaning may add
PULL: Final = 0.001  # cost, on each frame, of a unit away from the curve that a fit starts from
TRUST: Final = 0.02  # the same for a published curve
BELOW: Final = 2.0  # units of the hull's bottom below the lowest joint (mpcoll.c)
SPREAD: Final = 0.02  # added cost that makes a height less likely by a factor of e
FALLS: Final = (a.FALL, a.FALL_AERIAL, a.FALL_SPECIAL)  # which lean; the next two actions are the leaning ones
LIKE: Final = {"falco": "fox", "fox": "falco", "ganondorf": "cptfalcon", "cptfalcon": "ganondorf", "roy": "marth"}
"""Characters with nearly the same animations."""

Curve = NDArray[np.float64]  # [HULL_FRAMES] units


class Near(NamedTuple):
    """The curve that a fit starts from."""

    heights: Curve
    pull: float  # cost, on each frame, of a unit away from it


class Fitted(NamedTuple):
    """The curve of one action."""

    heights: Curve
    uncertainty: float  # units, half the width within which a height lies with 80%, on the median frame with bounds
    landings: int
    misses: int


def fit_hulls(replays: Sequence[Replay]) -> dict[str, dict[str, object]]:
    """Content of ``[hull]`` by name of the character."""
    fitted = fit_bounds([bounds(replay) for replay in replays], read_published())
    return {name: _table(curves) for name, curves in fitted.items()}


def fit_bounds(
    found: Sequence[NDArray[np.void]], published: dict[str, dict[int, Curve]] | None = None
) -> dict[str, dict[int, Fitted]]:
    """Curves by character and action, from BOUND of each replay and from published curves."""
    rows, known = np.concatenate(found), published or {}
    rows = rows[(rows["action"] != NONE) & ((rows["landing"] == 0) | (rows["height"] > 0.0))]
    parts = {name: rows[rows["character"] == number] for name, number in CHARACTERS.items()}
    parts = {name: part for name, part in parts.items() if len(part) or name in known}
    near = {name: {x: Near(curve, TRUST) for x, curve in known.get(name, {}).items()} for name in parts}
    alone = {name: _fit_all(part, near[name]) for name, part in parts.items()}
    return {name: _fit_all(part, _like(alone, near, name)) for name, part in parts.items()}


def _like(alone: dict[str, dict[int, Fitted]], near: dict[str, dict[int, Near]], name: str) -> dict[int, Near]:
    """Where the fits of a character start from: what is published, and the character with the same animations.

    Published curves of both are corrected by what the replays of the other one say about them.
    """
    own, like = alone[name], LIKE.get(name, "")
    other, known = alone.get(like, {}), near.get(like, {})
    both = [action for action in own if action in other and min(own[action].landings, other[action].landings) >= 5]
    ratio = 1.0
    if both:
        ratio = float(np.median([_reach(own[x]) / _reach(other[x]) for x in both]))
    start = {x: Near(np.maximum((fit.heights + BELOW) * ratio - BELOW, 0.0), PULL) for x, fit in other.items()}
    for action, curve in near[name].items():
        added = other[action].heights - known[action].heights if action in known else 0.0
        start[action] = Near(np.maximum(curve.heights + added * ratio, 0.0), TRUST)
    return start


def _reach(fitted: Fitted) -> float:
    """Height of the joints, which grows with the size of a body."""
    return float(fitted.heights.mean()) + BELOW


def _fit_all(rows: NDArray[np.void], near: dict[int, Near]) -> dict[int, Fitted]:
    landed = rows[rows["landing"] == 1]
    level = float(np.median(_fit(landed, Near(np.zeros(HULL_FRAMES), 0.0)).heights)) if len(landed) else DEFAULT_HULL
    flat = Near(np.full(HULL_FRAMES, level), PULL)
    fits: dict[int, Fitted] = {}
    for action in sorted({*np.unique(rows["action"]).tolist(), *near}):
        part, start = rows[rows["action"] == action], near.get(action, flat)
        if (part["lean"] == 0.0).all():
            fits.setdefault(action, _fit(part, start))
        else:
            for side, fitted in enumerate(_fit_leaning(part, start)):
                fits[action + side] = fitted
    for fall in FALLS:
        for side in (1, 2):
            if fall in fits:
                fits.setdefault(fall + side, fits[fall])
    return fits


def _fit_leaning(rows: NDArray[np.void], near: Near) -> tuple[Fitted, Fitted, Fitted]:
    """Upright, forward and backward: two heights that are added to the curve, each the one that makes it fit best."""
    added = np.zeros(2)
    for side in (0, 1, 0, 1):
        costs = []
        for height in LEANS:
            added[side] = height
            costs.append(_best(_upright(rows, added), near).min() + PULL * abs(height))
        added[side] = LEANS[int(np.argmin(costs))]
    fitted = _fit(_upright(rows, added), near)
    forward, backward = (fitted._replace(heights=np.maximum(fitted.heights + height, 0.0)) for height in added)
    return fitted, forward, backward


def _upright(rows: NDArray[np.void], added: NDArray[np.float64]) -> NDArray[np.void]:
    """The bounds as they would be without leaning."""
    lean = rows["lean"]
    upright = rows.copy()
    upright["height"] -= np.abs(lean) * np.where(lean > 0.0, added[0], added[1])
    return upright


def _fit(rows: NDArray[np.void], near: Near) -> Fitted:
    """The best curve for the bounds of one action."""
    totals = _best(rows, near)
    weight = np.exp((totals.min(1, keepdims=True) - totals) / SPREAD)
    share = np.cumsum(weight, axis=1) / weight.sum(1, keepdims=True)
    low, middle, high = (STEPS[(share >= part).argmax(1)] for part in (0.1, 0.5, 0.9))
    added = STEPS[totals.argmin(1)] if near.pull == TRUST else middle  # what is published stays unless it costs
    seen = np.unique(rows["frame"])
    width = float(np.median((high - low)[seen])) / 2 if len(seen) else HIGHEST / 2
    landings = int(rows["landing"].sum())
    return Fitted(np.clip(near.heights + added, 0.0, HIGHEST), width, landings, len(rows) - landings)


def _best(rows: NDArray[np.void], near: Near) -> NDArray[np.float64]:
    """[frames, steps] least cost of a whole curve that is each step away from ``near`` on each frame."""
    lowest_joint = near.heights[:, None] + STEPS  # over where it would have to be for a hull at the feet
    cost = np.where(
        (lowest_joint < -BELOW) | (lowest_joint > HIGHEST), WORST, near.pull * np.minimum(np.abs(STEPS), WORST * 3)
    )
    heights = np.maximum(lowest_joint, 0.0)  # the hull ends at the feet
    for row in rows:
        gap = row["height"] - heights[row["frame"]]
        broken = -gap if row["landing"] else gap
        cost[row["frame"]] += np.minimum(np.maximum(broken, 0.0), WORST) + 0.1 * (broken > 0.0)
    return _totals(cost)


def _totals(cost: NDArray[np.float64]) -> NDArray[np.float64]:
    forward, backward = cost.copy(), cost.copy()
    for frame in range(1, len(cost)):
        forward[frame] += _reached(forward[frame - 1])
        backward[-1 - frame] += _reached(backward[-frame])
    return forward + backward - cost


def _reached(cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """[steps] least cost of a step and of the change that leads from it to each step."""
    up = np.minimum.accumulate(cost - STIFFNESS * STEPS) + STIFFNESS * STEPS
    down = np.minimum.accumulate((cost + STIFFNESS * STEPS)[::-1])[::-1] - STIFFNESS * STEPS
    cheapest: NDArray[np.float64] = np.minimum(up, down)
    return cheapest


def _table(curves: dict[int, Fitted]) -> dict[str, object]:
    weights = np.array([max(curve.landings, 1) for curve in curves.values()])
    levels = np.array([curve.heights.mean() for curve in curves.values()])
    table: dict[str, object] = {"default": round(float(levels @ weights / weights.sum()), 2)}
    for action, curve in curves.items():
        table[action_name(action)] = {
            "heights": [round(float(height), 3) for height in trimmed(curve.heights)],
            "landings": curve.landings,
            "misses": curve.misses,
            "uncertainty": round(curve.uncertainty, 2),
        }
    return table


def trimmed(heights: Curve) -> Curve:
    """Without the frames at the end that repeat the last height."""
    changes = np.flatnonzero(heights != heights[-1])
    return heights[: changes[-1] + 2 if len(changes) else 1]
