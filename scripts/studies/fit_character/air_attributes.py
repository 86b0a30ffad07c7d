"""Attributes of jumping, falling, drifting and hanging from a ledge, from replays."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fit_character.samples import EXACT, Frames, Measured, Runs, line, mode, steady
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_X, BUTTON_Y
from selfplay_melee.physics.inputs import SHORT_HOP_STICK
from selfplay_melee.tables import load_tables

PLACE: Final = 0.02  # units within which two places are the same
FREE: Final = (*range(a.JUMP_F, a.JUMP_B + 1), *range(a.FALL, a.FALL_AERIAL_B + 1), *range(a.NAIR, a.DAIR + 1))
TOO_SLOW: Final = 0.1  # units a frame, or distance of the stick
FEWEST_JUMPS: Final = 2
FEWEST_LOSSES: Final = 2
EARLY: Final = 3  # least frames that must show a short landing


def air_attributes(frames: Frames, runs: Runs) -> dict[str, Measured]:
    """By name of the attribute."""
    falling = _falls(frames)
    drifting = _drift(frames)
    return (
        falling
        | _jump(frames, runs)
        | drifting
        | _air_jump(frames, runs, falling["gravity"], drifting)
        | _ledge(frames, runs)
        | {"landing_lag": _landing_lag(runs), "grab_hold_x": _holding(frames)}
    )


def _free(frames: Frames) -> NDArray[np.intp]:
    """Frames of free flight whose frame before is one of the same action."""
    now = steady(frames)
    p = frames.p
    flies = np.isin(p["action"], FREE) & (p["on_ground"] == 0) & ~(p["hitstun"] > 0.0)
    chosen: NDArray[np.intp] = now[flies[now] & flies[now - 1] & (p["action"][now] == p["action"][now - 1])]
    return chosen


def _falls(frames: Frames) -> dict[str, Measured]:
    now = _free(frames)
    speed = frames.p["speed_y"]
    before, after = speed[now - 1], speed[now]
    lost = before - after
    gravity = mode(lost[lost > EXACT])
    if gravity.value is None:
        return {"gravity": gravity, "fall_speed": Measured(), "fast_fall_speed": Measured()}
    stays = (np.abs(lost) < EXACT) & (after < 0.0)
    fast = mode(-after[(lost > gravity.value + 5 * EXACT) & (after < 0.0)])
    reached = (lost > EXACT) & (lost < gravity.value - EXACT) & (after < 0.0)
    slow = stays | reached
    if fast.value is not None:
        slow &= np.abs(after + fast.value) > EXACT
    return {"gravity": gravity, "fall_speed": mode(-after[slow]), "fast_fall_speed": fast}


def _drift(frames: Frames) -> dict[str, Measured]:
    now = _free(frames)
    p, x = frames.p, frames.stick_x[now]
    now, x = (values[~((p["action"][now] <= a.JUMP_B) & (p["action_frame"][now] == 0.0))] for values in (now, x))
    before, after = p["speed_air_x"][now - 1], p["speed_air_x"][now]
    change = after - before
    slows = (x == 0.0) & (np.abs(after) > EXACT) & (np.abs(before) > np.abs(after) + EXACT)
    friction = mode((np.abs(before) - np.abs(after))[slows])
    gains = (x != 0.0) & (change * x > EXACT**2) & (np.abs(change) > EXACT)
    # Friction towards a lower target shows where the stick points the other way than the change.
    step, stick = line(np.abs(x[gains]), np.abs(change[gains]))
    holds = (x != 0.0) & (np.abs(change) < EXACT / 100) & (after * x > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = mode(np.abs(after / x)[holds], 5 * EXACT)
    return {
        "air_acceleration": step,
        "air_acceleration_stick": stick,
        "air_max": top if top.value is None else top._replace(value=round(top.value, 4)),
        "air_friction": friction,
    }


def _jump(frames: Frames, runs: Runs) -> dict[str, Measured]:
    p = frames.p
    first = runs.first[np.isin(runs.action, (a.JUMP_F, a.JUMP_B)) & frames.linked[runs.first]]
    first = first[(p["action"][first - 1] == a.JUMP_SQUAT) & (p["hitlag"][first] == 0.0)]
    held = ((frames.buttons[first - 1] & (BUTTON_X | BUTTON_Y)) != 0) | (frames.stick_y[first - 1] >= SHORT_HOP_STICK)
    up = p["speed_y"][first]
    made = {"full_hop": mode(up[held]), "short_hop": mode(up[~held])}
    before, after, push = p["speed_ground_x"][first - 1], p["speed_air_x"][first], frames.stick_x[first - 1]
    return made | _sideways_jump(before, after, push)


def _sideways_jump(
    before: NDArray[np.float64], after: NDArray[np.float64], push: NDArray[np.float64]
) -> dict[str, Measured]:
    """The speed of a jump is a share of the speed on the ground and a share of the stick, up to a limit.

    Both shares have two digits, so all are tried. Those that the most different jumps have are the game's.
    """
    jumps = np.unique(np.round(np.stack([before, push, after], 1), 5), axis=0)
    jumps = jumps[np.abs(jumps[:, :2]).max(1) > TOO_SLOW] if len(jumps) else jumps
    kept = np.round(np.arange(0.0, 1.3, 0.01), 2)[:, None, None]
    start = np.round(np.arange(0.0, 2.0, 0.01), 2)[None, :, None]
    fits = np.abs(kept * jumps[:, 0] + start * jumps[:, 1] - jumps[:, 2]) < EXACT
    counts = fits.sum(2)
    best = counts == counts.max(initial=0)
    i, j = (int(where[0]) for where in np.nonzero(best))
    parts = {}
    for name, axis, value in (("ground_to_air", 0, kept[i, 0, 0]), ("jump_start_x", 1, start[0, j, 0])):
        moving = np.abs(jumps[fits[i, j], axis]) > TOO_SLOW
        same = len(np.unique(np.nonzero(best)[axis])) == 1
        found = float(value) if same and moving.sum() >= FEWEST_JUMPS else None
        parts[name] = Measured(found, EXACT, int(moving.sum()), len(jumps), "jumps that differ")
    asked = np.abs(kept[i, 0, 0] * before + start[0, j, 0] * push)
    capped = (asked > np.abs(after) + 10 * EXACT) & (np.abs(after) > TOO_SLOW)
    top = mode(np.abs(after)[capped])
    if best.sum() > 1 or top.value is None:
        top = Measured(None, None, 0, len(after), f"at least {round(float(np.abs(after).max(initial=0.0)), 3)}")
    return parts | {"jump_max_x": top}


def _air_jump(frames: Frames, runs: Runs, gravity: Measured, drifting: dict[str, Measured]) -> dict[str, Measured]:
    p = frames.p
    grounded = frames.linked & (p["on_ground"] == 1) & (p["action"] == a.WAIT)
    jumps = mode(p["jumps_left"][grounded].astype(float) - 1.0, 0.01)
    first = runs.first[frames.linked[runs.first]]
    # A jump in the air costs a jump; so does one from the ground, which follows a squat.
    spent = (p["jumps_left"][first] == p["jumps_left"][first - 1] - 1) & (p["on_ground"][first - 1] == 0)
    own = first[spent & (p["action"][first] >= a.FIRST_SPECIAL) & (p["jumps_left"][first] < 9)]
    usual = first[np.isin(p["action"][first], (a.JUMP_AERIAL_F, a.JUMP_AERIAL_B))]
    made = {"air_jumps": jumps}
    if jumps.value is not None and jumps.value > 1.0 and len(own):
        lowest = mode(p["action"][own].astype(float), 0.01)
        lowest = lowest if lowest.value is None else lowest._replace(value=float(p["action"][own].min()))
        number = p["action"][own] - p["action"][own].min()
        speeds = [mode(p["speed_y"][own][number == n]) for n in range(int(jumps.value))]
        known = [speed.value for speed in speeds if speed.value is not None]
        loss = mode(-np.diff(np.array(known)), 1e-3) if len(known) > FEWEST_LOSSES else Measured()
        made |= {"air_jump_action": lowest, "air_jump_loss": loss}
        usual = own[number == 0]
    up = mode(p["speed_y"][usual])
    if up.value is not None and gravity.value is not None:
        up = up._replace(value=round(up.value + gravity.value, 4), note="if the jump is no path, see its speeds")
    return made | {"double_jump_y": up, "double_jump_x": _sideways(frames, usual, drifting)}


def _sideways(frames: Frames, first: NDArray[np.intp], drifting: dict[str, Measured]) -> Measured:
    """The first frame of a jump shows its speed after the drift of that frame: friction above the top speed."""
    push, speed = np.abs(frames.stick_x[first]), np.abs(frames.p["speed_air_x"][first])
    push, speed = push[push > 0.0], speed[push > 0.0]
    shown = mode(speed / push, 5 * EXACT)
    friction, top = drifting["air_friction"].value, drifting["air_max"].value
    step, stick = drifting["air_acceleration"].value, drifting["air_acceleration_stick"].value
    if friction is None or top is None or step is None or stick is None or shown.value is None:
        return shown._replace(value=None, note=f"{shown.value} of the stick after one frame of drift")
    if abs(shown.value - top) < 10 * EXACT:
        note = f"the drift of the frame leads to the top speed: from {top - step - stick:g} to {top + friction:g}"
        return shown._replace(value=None, note=note)
    above, below = mode((speed + friction) / push, 5 * EXACT), mode((speed - step) / push - stick, 5 * EXACT)
    return above if above.frames >= below.frames and (above.value or 0.0) > top else below


def _ledge(frames: Frames, runs: Runs) -> dict[str, Measured]:
    p = frames.p
    first = runs.first[np.isin(runs.action, (a.CLIFF_JUMP_SLOW_2, a.CLIFF_JUMP_QUICK_2))]
    up = mode(p["speed_y"][first])
    away = mode(p["speed_air_x"][first] * p["facing"][first])
    tables = load_tables()
    hangs = np.flatnonzero((p["action"] == a.CLIFF_WAIT) & (frames.stage >= 0))
    rows = tables.stage_rows[frames.stage[hangs]]
    hangs, rows = hangs[rows >= 0], rows[rows >= 0]
    stages = tables.stages[rows]
    return {
        "ledge_jump_y": up,
        "ledge_jump_x": away,
        "hang_x": _place(np.abs(p["x"][hangs]) - stages["surface_right"][:, 0]),
        "hang_y": _place(stages["ledge_y"] - p["y"][hangs]),
    }


def _place(values: NDArray[np.float64]) -> Measured:
    measured = mode(values, PLACE)
    return measured if measured.value is None else measured._replace(value=round(measured.value, 3))


def _holding(frames: Frames) -> Measured:
    holds = (frames.p["action"] == a.CATCH_WAIT) & np.isin(
        frames.rival["action"], (a.CAPTURE_WAIT, a.CAPTURE_WAIT_HIGH)
    )
    return _place(np.abs(frames.p["x"] - frames.rival["x"])[holds])


def _landing_lag(runs: Runs) -> Measured:
    """The least number of frames after which players did something else after a plain landing."""
    acted = (
        (runs.action == a.LANDING)
        & runs.undisturbed
        & (runs.following > 0)
        & ~np.isin(runs.following, (a.FALL, a.WAIT))
    )
    hurt = (runs.following >= a.DAMAGE_HIGH_1) & (runs.following <= a.DAMAGE_FLY_ROLL)
    lengths = (runs.last - runs.first + 1)[acted & ~hurt]
    values, counts = np.unique(lengths, return_counts=True)
    often = counts >= EARLY
    if not often.any():
        return Measured(of=len(lengths))
    return Measured(float(values[often][0]), 0.0, int(counts[often][0]), len(lengths))
