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
STIFFNESS: Final = 1.0  # cost of a change of one unit from one frame to the next
PULL: Final = 0.01  # cost, on each frame, of a unit away from the character with the same animations
CLOSE: Final = 0.3  # added cost up to which a height may be the right one
LIKE: Final = {"falco": "fox", "fox": "falco", "ganondorf": "cptfalcon", "cptfalcon": "ganondorf"}
"""Characters with nearly the same animations."""

Curve = NDArray[np.float64]  # [HULL_FRAMES] units


class Fitted(NamedTuple):
    """The curve of one action."""

    heights: Curve
    uncertainty: float  # units, half the width within which the heights may lie, on the median frame with bounds
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
    actions = sorted({*np.unique(rows["action"]).tolist(), *prior})
    return {action: _fit(rows[rows["action"] == action], prior.get(action, flat)) for action in actions}


def _fit(rows: NDArray[np.void], prior: Curve | None) -> Fitted:
    """The best curve for the bounds of one action."""
    cost = np.zeros((HULL_FRAMES, len(HEIGHTS)))
    for row in rows:
        gap = row["height"] - HEIGHTS
        broken = -gap if row["landing"] else gap
        cost[row["frame"]] += np.minimum(np.maximum(broken, 0.0), WORST) + 0.1 * (broken > 0.0)
    if prior is not None:
        cost += PULL * np.minimum(np.abs(HEIGHTS - prior[:, None]), WORST * 3)
    totals = _totals(cost)
    best = HEIGHTS[totals.argmin(1)]
    near = totals <= totals.min(1, keepdims=True) + CLOSE
    width = (near.shape[1] - near[:, ::-1].argmax(1) - near.argmax(1)) * STEP / 2
    seen = np.unique(rows["frame"])
    middle = float(np.median(width[seen])) if len(seen) else HIGHEST / 2
    landings = int(rows["landing"].sum())
    return Fitted(best, middle, landings, len(rows) - landings)


def _totals(cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """[frames, heights] least cost of a whole curve through each height on each frame."""
    change = STIFFNESS * np.abs(HEIGHTS[:, None] - HEIGHTS)
    forward, backward = cost.copy(), cost.copy()
    for frame in range(1, len(cost)):
        forward[frame] += (forward[frame - 1] + change).min(1)
        backward[-1 - frame] += (backward[-frame] + change).min(1)
    return forward + backward - cost


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
