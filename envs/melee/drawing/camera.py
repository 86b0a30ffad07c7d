"""Camera positions: one that follows both players smoothly and without lag, and one that stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from envs.melee.drawing.film import Film
    from envs.melee.drawing.scenery import Scenery

ASPECT: Final = 16 / 9
SMOOTHING: Final = 0.07  # share of the way to its target per frame, forwards and backwards
AROUND: Final = (34.0, 24.0)  # units beside and above or below the players
NARROWEST: Final = 110.0  # width of the picture in units
RISE: Final = 2.0  # of the middle of the picture above the players' feet
ROOM: Final = 0.12  # of the picture's height that may lie under the blast zone, where percents are shown
BESIDE: Final = 34.0  # units beside the floor in a picture of the whole stage
BELOW: Final = 46.0  # units under it

Camera = NDArray[np.float32]  # [3] middle x, middle y, width, in units


def still_camera(scenery: Scenery) -> Camera:
    width = 2 * (scenery.edge + BESIDE)
    return np.array([0.0, width / ASPECT / 2 - BELOW, width], np.float32)


def follow(film: Film, scenery: Scenery, gone: NDArray[np.bool_]) -> NDArray[np.float32]:
    """A camera for each moment, [T, 3].

    Args:
        film: What is filmed.
        scenery: Around it.
        gone: [T, 2] whether the player is out of the game.
    """
    left, right, bottom, top = scenery.blast
    x = _hold(np.clip(np.nan_to_num(film.players["x"]), left, right), gone)
    y = _hold(np.clip(np.nan_to_num(film.players["y"]), bottom, top), gone)
    span = np.maximum(np.ptp(x, axis=1) + 2 * AROUND[0], (np.ptp(y, axis=1) + 2 * AROUND[1]) * ASPECT)
    widest = min(right - left, (top - bottom) * ASPECT)
    width = _smooth(np.clip(span, NARROWEST, widest), film)
    middle_x = _smooth((x.min(1) + x.max(1)) / 2, film)
    middle_y = _smooth((y.min(1) + y.max(1)) / 2 + RISE, film)
    middle_x = np.clip(middle_x, left + width / 2, right - width / 2)
    height = width / ASPECT
    middle_y = np.clip(middle_y, bottom + height * (0.5 - ROOM), top - height / 2)
    return np.stack([middle_x, middle_y, width], axis=1).astype(np.float32)


def _hold(places: NDArray[np.float64], gone: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Places [T, 2]: a player that is gone keeps its last place, or has its opponent's if it had none yet."""
    rows = np.where(gone, -1, np.arange(len(places))[:, None])
    rows = np.maximum.accumulate(rows, axis=0)
    held: NDArray[np.float64] = np.take_along_axis(places, np.maximum(rows, 0), axis=0)
    return np.where(rows < 0, held[:, ::-1], held)


def _smooth(track: NDArray[np.float64], film: Film) -> NDArray[np.float64]:
    """A low pass forwards and then backwards, which leaves no lag."""
    steps = np.diff(film.frames, prepend=film.frames[0])
    for direction in (slice(None), slice(None, None, -1)):
        values, kept = track[direction].tolist(), 1 - SMOOTHING
        pace = steps[direction].tolist()
        smoothed = [values[0]]
        for value, frames in zip(values[1:], pace[1:], strict=True):
            smoothed.append(value + (smoothed[-1] - value) * kept ** min(frames, 60))
        track = np.array(smoothed)[direction]
    return track
