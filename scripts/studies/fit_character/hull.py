"""The height of the hull's bottom on each frame of each action in the air, from landings and near misses.

A curve of heights over the frames of an action is the one that breaks the fewest bounds and changes least from frame to
frame. Where bounds are few, it stays near the curve of the character with the same animations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.melee.tables import CHARACTERS
from envs.melee.tables.fits import DEFAULT_HULL
from envs.melee.tables.layout import HULL_FRAMES
from scripts.studies.fidelity.coverage import action_name
from scripts.studies.fit_character.bounds import NONE, bounds

if TYPE_CHECKING:
    from envs.melee.replay import Replay

STEP: Final = 0.05  # units between the heights that are tried
HIGHEST: Final = 16.0
HEIGHTS: Final = np.arange(0.0, HIGHEST, STEP)
WORST: Final = 1.0  # units: a bound that is broken by more counts no more, it is an error of the search
STIFFNESS: Final = 0.7  # cost of a change of one unit from one frame to the next
LEANS: Final = np.arange(-4.0, 4.01, 0.5)  # units that leaning may add
PULL: Final = 0.001  # cost, on each frame, of a unit away from the character with the same animations
SPREAD: Final = 0.02  # added cost that makes a height less likely by a factor of e
LIKE: Final = {"falco": "fox", "fox": "falco", "ganondorf": "cptfalcon", "cptfalcon": "ganondorf", "roy": "marth"}
"""Characters with nearly the same animations."""

Curve = NDArray[np.float64]  # [HULL_FRAMES] units


class Fitted(NamedTuple):
    """The curve of one action."""

    heights: Curve
    uncertainty: float  # units, half the width within which a height lies with 80%, on the median frame with bounds
    landings: int
    misses: int


def fit_hulls(replays: Sequence[Replay]) -> dict[str, dict[str, object]]:
    """Content of ``[hull]`` by name of the character."""
    return {name: _table(curves) for name, curves in fit_bounds([bounds(replay) for replay in replays]).items()}


def fit_bounds(found: Sequence[NDArray[np.void]]) -> dict[str, dict[int, Fitted]]:
    """Curves by character and action, from BOUND of each replay."""
    rows = np.concatenate(found)
    rows = rows[(rows["action"] != NONE) & ((rows["landing"] == 0) | (rows["height"] > 0.0))]
    names = {name: number for name, number in CHARACTERS.items() if number in rows["character"]}
    alone = {name: _fit_all(rows[rows["character"] == number], {}) for name, number in names.items()}
    return {
        name: _fit_all(rows[rows["character"] == number], _prior(alone, name, LIKE.get(name, "")))
        for name, number in names.items()
    }


def _prior(alone: dict[str, dict[int, Fitted]], name: str, like: str) -> dict[int, Curve]:
    """Curves of the character ``like``, scaled to this one."""
    if like not in alone:
        return {}
    own, other = alone[name], alone[like]
    both = [action for action in own if action in other and min(own[action].landings, other[action].landings) >= 5]
    ratio = 1.0
    if both:
        ratio = float(np.median([own[x].heights.mean() / max(other[x].heights.mean(), STEP) for x in both]))
    return {action: fitted.heights * ratio for action, fitted in other.items()}


def _fit_all(rows: NDArray[np.void], prior: dict[int, Curve]) -> dict[int, Fitted]:
    landed = rows[rows["landing"] == 1]
    level = float(np.median(_fit(landed, None).heights)) if len(landed) else DEFAULT_HULL
    flat = np.full(HULL_FRAMES, level)
    fits: dict[int, Fitted] = {}
    for action in sorted({*np.unique(rows["action"]).tolist(), *prior}):
        part, near = rows[rows["action"] == action], prior.get(action, flat)
        if (part["lean"] == 0.0).all():
            fits[action] = _fit(part, near)
        else:
            for side, fitted in enumerate(_fit_leaning(part, near)):
                fits[action + side] = fitted
    return fits


def _fit_leaning(rows: NDArray[np.void], prior: Curve) -> tuple[Fitted, Fitted, Fitted]:
    """Upright, forward and backward: two heights that are added to the curve, each the one that makes it fit best."""
    added = np.zeros(2)
    for side in (0, 1, 0, 1):
        costs = []
        for height in LEANS:
            added[side] = height
            costs.append(_best(_upright(rows, added), prior).min() + PULL * abs(height))
        added[side] = LEANS[int(np.argmin(costs))]
    fitted = _fit(_upright(rows, added), prior)
    forward, backward = (fitted._replace(heights=np.maximum(fitted.heights + height, 0.0)) for height in added)
    return fitted, forward, backward


def _upright(rows: NDArray[np.void], added: NDArray[np.float64]) -> NDArray[np.void]:
    """The bounds as they would be without leaning."""
    lean = rows["lean"]
    upright = rows.copy()
    upright["height"] -= np.abs(lean) * np.where(lean > 0.0, added[0], added[1])
    return upright


def _fit(rows: NDArray[np.void], prior: Curve | None) -> Fitted:
    """The best curve for the bounds of one action."""
    totals = _best(rows, prior)
    weight = np.exp((totals.min(1, keepdims=True) - totals) / SPREAD)
    share = np.cumsum(weight, axis=1) / weight.sum(1, keepdims=True)
    low, best, high = (HEIGHTS[(share >= part).argmax(1)] for part in (0.1, 0.5, 0.9))
    seen = np.unique(rows["frame"])
    middle = float(np.median((high - low)[seen])) / 2 if len(seen) else HIGHEST / 2
    landings = int(rows["landing"].sum())
    return Fitted(best, middle, landings, len(rows) - landings)


def _best(rows: NDArray[np.void], prior: Curve | None) -> NDArray[np.float64]:
    """[frames, heights] least cost of a whole curve through each height on each frame."""
    cost = np.zeros((HULL_FRAMES, len(HEIGHTS)))
    for row in rows:
        gap = row["height"] - HEIGHTS
        broken = -gap if row["landing"] else gap
        cost[row["frame"]] += np.minimum(np.maximum(broken, 0.0), WORST) + 0.1 * (broken > 0.0)
    if prior is not None:
        cost += PULL * np.minimum(np.abs(HEIGHTS - prior[:, None]), WORST * 3)
    return _totals(cost)


def _totals(cost: NDArray[np.float64]) -> NDArray[np.float64]:
    forward, backward = cost.copy(), cost.copy()
    for frame in range(1, len(cost)):
        forward[frame] += _reached(forward[frame - 1])
        backward[-1 - frame] += _reached(backward[-frame])
    return forward + backward - cost


def _reached(cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """[heights] least cost of a height and of the change that leads from it to each height."""
    up = np.minimum.accumulate(cost - STIFFNESS * HEIGHTS) + STIFFNESS * HEIGHTS
    down = np.minimum.accumulate((cost + STIFFNESS * HEIGHTS)[::-1])[::-1] - STIFFNESS * HEIGHTS
    return np.minimum(up, down)


def _table(curves: dict[int, Fitted]) -> dict[str, object]:
    weights = np.array([max(curve.landings, 1) for curve in curves.values()])
    levels = np.array([curve.heights.mean() for curve in curves.values()])
    table: dict[str, object] = {"default": round(float(levels @ weights / weights.sum()), 2)}
    for action, curve in curves.items():
        table[action_name(action)] = {
            "heights": [round(float(height), 2) for height in trimmed(curve.heights)],
            "landings": curve.landings,
            "misses": curve.misses,
            "uncertainty": round(curve.uncertainty, 2),
        }
    return table


def trimmed(heights: Curve) -> Curve:
    """Without the frames at the end that repeat the last height."""
    changes = np.flatnonzero(heights != heights[-1])
    return heights[: changes[-1] + 2 if len(changes) else 1]
