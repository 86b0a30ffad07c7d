"""What a stage does on each frame of a replay: wind, and platforms that move by chance.

New files record it in events. In older ones it shows in the players: wind moves them beside their speeds, and a
player on a platform is at its height. A frame's state depends on this frame and earlier ones only; what comes next by
chance is unknown: a rest and a calm go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from selfplay_melee import actions as a
from selfplay_melee.physics.stages import fountain, wind
from selfplay_melee.state import as_records
from selfplay_melee.tables import STAGES

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay

FOREVER: Final = 1 << 30  # frames
SAME: Final = 1.5e-3  # units: positions have single precision
MEAN_STEP: Final = (fountain.SHORT_STEP + fountain.LONG_STEP) / 2
FASTEST: Final = 1.0  # units a frame, that no platform moves
PLATFORM_X: Final = (21.0, 49.5)  # ends of the fountain's right platform; the left one is its mirror image
PLATFORM_Y: Final = (1.2, 28.0)  # heights at which it can be stood on


def stage_state(replay: Replay) -> NDArray[np.void]:
    """GAME [T] of a replay, with the state of the stage as the mock goes on from it."""
    game = as_records(replay.state.game.copy())
    if replay.stage == STAGES["dreamland"]:
        _follow_wind(game, *(_recorded_wind(replay) if "whispy" not in replay.absent else _seen_wind(replay)))
    elif replay.stage == STAGES["fountain_of_dreams"]:
        for i, name in enumerate(("fountain_left", "fountain_right")):
            _follow_platform(
                game, name, i, _seen_heights(replay, i) if not game["fountain_given"].all() else game[name]
            )
        game["fountain_given"] = 0
    return game


def _recorded_wind(replay: Replay) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """[T] direction, and where it is known."""
    sides = np.select([replay.whispy == 1, replay.whispy == 2], [-1, 1], 0).astype(np.int8)
    return sides, np.ones((len(sides), 2), bool)


def _seen_wind(replay: Replay) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """[T] direction in which a player is moved beside its speeds, 0 where none is; [T, 2] sides that show a calm."""
    p = replay.state.players
    sides, calm = np.zeros(len(p), np.int8), np.zeros((len(p), 2), bool)
    if "players.speed_y" in replay.absent:
        return sides, calm
    before, after = p[:-1], p[1:]
    speed = np.where(after["on_ground"] == 1, after["speed_ground_x"], after["speed_air_x"]) + after["speed_attack_x"]
    beside = after["x"] - before["x"] - speed
    x, y = before["x"] + speed, after["y"]
    free = (y > wind.BOTTOM) & (y < wind.TOP) & (after["hitlag"] <= 0) & (after["action"] > a.REBIRTH_WAIT)
    for side, left, right in ((-1, wind.LEFT_FROM, wind.LEFT_TO), (1, wind.RIGHT_FROM, wind.RIGHT_TO)):
        inside = free & (left < x) & (x < right)
        sides[1:][(inside & (np.abs(beside - side * wind.SPEED) < SAME)).any(1)] = side
        calm[1:, max(side, 0)] = (inside & (np.abs(beside) < SAME)).any(1)
    return sides, calm


def _follow_wind(game: NDArray[np.void], sides: NDArray[np.int8], calm: NDArray[np.bool_]) -> None:
    """Write wind and how long it goes on: a known number of frames from its first on."""
    now = left = 0
    for t, side in enumerate(sides.tolist()):
        left = max(left - 1, 0)
        if side and side != now:
            now, left = side, wind.FRAMES
        elif not left or (not side and calm[t, max(now, 0)]):
            now = left = 0
        game["wind"][t], game["wind_frames"][t] = now, left


def _seen_heights(replay: Replay, i: int) -> NDArray[np.float64]:
    """[T] height of a platform of the fountain where a player stands on it, else NaN."""
    p = replay.state.players
    side = -1 if i == 0 else 1
    low, high = PLATFORM_X
    beside = (side * p["x"] >= low) & (side * p["x"] <= high) & (p["y"] > PLATFORM_Y[0]) & (p["y"] < PLATFORM_Y[1])
    stands = beside & (p["on_ground"] == 1) & (p["hitlag"] <= 0) & (p["action"] > a.REBIRTH_WAIT)
    heights = np.where(stands, p["y"], np.nan)
    known = ~np.isnan(heights).all(1)
    result = np.full(len(p), np.nan)
    result[known] = np.nanmax(heights[known], axis=1)
    return result


def _follow_platform(game: NDArray[np.void], name: str, i: int, heights: NDArray[np.float64]) -> None:
    """Write height and motion of a platform; between the frames that show it, it goes on as it did."""
    first = fountain.FIRST_RIGHT if i else fountain.FIRST_LEFT
    y = rested = target = first
    before = float("nan")  # height on the frame before, where that was seen
    for t, seen in enumerate(heights.tolist()):
        guess, y = y, seen if seen == seen else _toward(y, target)
        if seen != seen:
            pass
        elif seen == before or abs(seen - target) < SAME:
            rested = target = seen
        elif abs(seen - before) < FASTEST:
            target = _target(rested, seen, seen > before)
        elif seen < fountain.LOWEST:  # seen anew, where no platform rests
            target = fountain.REST if guess < seen else fountain.SUNK
        elif abs(guess - seen) > FASTEST or (target - guess) * (target - seen) <= 0:
            rested = target = seen
        before = seen
        game[name][t], game["fountain_target"][t, i] = y, target
        game["fountain_moves"][t, i], game["fountain_frames"][t, i] = int(y != target), FOREVER


def _toward(y: float, target: float) -> float:
    return min(y + fountain.RISE, target) if y < target else max(y - fountain.SINK, target)


def _target(rested: float, y: float, up: bool) -> float:
    """Where a platform that left ``rested`` and is at y now most likely stops."""
    if up and rested < fountain.LOWEST:
        return fountain.REST
    if not up and y < fountain.LOWEST:
        return fountain.SUNK
    step = MEAN_STEP if abs(y - rested) < MEAN_STEP else fountain.LONG_STEP
    if up:
        return min(max(rested + step, y), fountain.HIGHEST)
    return max(min(rested - step, y), fountain.LOWEST)
