"""Camera positions: one that follows both players and never loses them, and one that shows the whole stage.

``browser/camera.js`` follows a fight that goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

if TYPE_CHECKING:
    from selfplay_melee.drawing.film import Film
    from selfplay_melee.drawing.scenery import Scenery

ASPECT: Final = 16 / 9
AHEAD: Final = 30  # frames before and after a moment that decide its picture
AROUND: Final = (26.0, 18.0)  # units beside and above or below the players' feet
NARROWEST: Final = 110.0  # width of the picture in units
ROOM: Final = 0.12  # of the picture's height at its bottom, where percents are shown
BESIDE: Final = 34.0  # units beside the floor in a picture of the whole stage
BELOW: Final = 46.0  # units under it

MAX_STEP: Final = 60  # frames that a gap in a film counts, at most

Floats = NDArray[np.float64]
Camera = NDArray[np.float32]  # [3] middle x, middle y, width, in units


def still_camera(scenery: Scenery) -> Camera:
    width = 2 * (scenery.edge + BESIDE)
    return np.array([0.0, width / ASPECT / 2 - BELOW, width], np.float32)


def follow(film: Film, scenery: Scenery, gone: NDArray[np.bool_]) -> NDArray[np.float32]:
    """A camera for each moment, [T, 3]; its picture holds both players wherever they are in the blast zone.

    Args:
        film: What is filmed.
        scenery: Around it.
        gone: [T, 2] whether the player is out of the game.
    """
    left, right, bottom, top = scenery.blast
    x = _hold(np.clip(np.nan_to_num(film.players["x"]), left, right), gone)
    y = _hold(np.clip(np.nan_to_num(film.players["y"]), bottom, top), gone)
    (beside, above), steps = AROUND, np.minimum(np.diff(film.frames, prepend=film.frames[0]), MAX_STEP)
    west, south = (-_cover(margin - track.min(1), steps) for track, margin in ((x, beside), (y, above)))
    east, north = (_cover(track.max(1) + margin, steps) for track, margin in ((x, beside), (y, above)))
    height = np.maximum((north - south) / (1 - ROOM), np.maximum(east - west, NARROWEST) / ASPECT)
    middle_x = _inside((west + east) / 2, height * ASPECT, left, right)
    middle_y = _inside((south + north - ROOM * height) / 2, height, bottom - ROOM * height, top + above)
    return np.stack([middle_x, middle_y, height * ASPECT], axis=1).astype(np.float32)


def _inside(middle: Floats, size: Floats, low: Floats | float, high: float) -> Floats:
    """The middles [T] of stretches of ``size`` [T], moved to between ``low`` and ``high``; centred where too long."""
    centre, room = (low + high) / 2, np.maximum((high - low - size) / 2, 0)
    return np.clip(middle, centre - room, centre + room)


def _hold(places: Floats, gone: NDArray[np.bool_]) -> Floats:
    """Places [T, 2]: a player that is gone keeps its last place, or has its opponent's if it had none yet."""
    rows = np.where(gone, -1, np.arange(len(places))[:, None])
    rows = np.maximum.accumulate(rows, axis=0)
    held: Floats = np.take_along_axis(places, np.maximum(rows, 0), axis=0)
    return np.where(rows < 0, held[:, ::-1], held)


def _cover(track: Floats, steps: NDArray[np.int32]) -> Floats:
    """A smooth track [T] that is nowhere below ``track``: the mean of its maxima around each frame.

    The mean and the maxima reach equally far, so that all maxima of a mean hold the moment itself.
    """
    at = np.cumsum(steps)
    every = track[np.searchsorted(at, np.arange(at[-1] + 1), side="right") - 1]
    highest = sliding_window_view(np.pad(every, 2 * AHEAD, "edge"), 2 * AHEAD + 1).max(-1)
    weights = np.bartlett(2 * AHEAD + 3)[1:-1]
    smooth: Floats = np.convolve(highest, weights / weights.sum(), "valid")[at]
    return smooth
