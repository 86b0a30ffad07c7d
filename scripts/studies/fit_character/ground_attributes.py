"""Attributes of walking, dashing, running, turning and crouching, from replays."""

from __future__ import annotations

from typing import Final

import numpy as np

from scripts.studies.fit_character.samples import (
    EXACT,
    Bools,
    Frames,
    Measured,
    Runs,
    line,
    mode,
    steady,
)
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.ground import DASH_TURN_FLIP, WALK_GAIN
from selfplay_melee.physics.actions.run import RUN_GAIN

FAST: Final = 0.3  # units a frame, from which the top speed of a walk can be worked out
CLEAR: Final = 0.05  # share of the top speed that must be missing for a step towards it to tell its size
SHARE: Final = 0.1  # of the most frequent slowdown, from which half of it counts as the traction
SLIDES: Final = (a.WAIT, a.RUN_BRAKE, a.SQUAT, a.SQUAT_WAIT, a.SQUAT_RISE, a.LANDING, a.LANDING_FALL_SPECIAL)


def ground_attributes(frames: Frames, runs: Runs) -> dict[str, Measured]:
    """By name of the attribute."""
    return (
        _walk(frames)
        | {"traction": _traction(frames)}
        | _dash(frames, runs)
        | _turns(frames, runs)
        | {
            "run_brake_frames": length(frames, runs, a.RUN_BRAKE, (a.WAIT,)),
            "squat_frames": last_frame(frames, runs, a.SQUAT, (a.SQUAT_WAIT,)),
            "squat_rise_frames": length(frames, runs, a.SQUAT_RISE, (a.WAIT,)),
            "jump_squat": length(frames, runs, a.JUMP_SQUAT, (a.JUMP_F, a.JUMP_B)),
        }
    )


def last_frame(frames: Frames, runs: Runs, action: int, following: tuple[int, ...]) -> Measured:
    """The last frame that an action shows before one of ``following``."""
    chosen = _ends(runs, action, following)
    return mode(np.asarray(frames.p["action_frame"][runs.last[chosen]]), 0.01)


def length(frames: Frames, runs: Runs, action: int, following: tuple[int, ...]) -> Measured:
    """How many frames an action takes before one of ``following``."""
    chosen = _ends(runs, action, following)
    chosen &= frames.linked[runs.first]
    return mode((runs.last - runs.first + 1)[chosen].astype(float), 0.01)


def _ends(runs: Runs, action: int, following: tuple[int, ...]) -> Bools:
    chosen: Bools = runs.undisturbed & (runs.action == action) & np.isin(runs.following, following)
    return chosen


def _walk(frames: Frames) -> dict[str, Measured]:
    now = steady(frames)
    p, push = frames.p, np.abs(frames.stick_x)
    walking = (p["action"] >= a.WALK_SLOW) & (p["action"] <= a.WALK_FAST)
    now = now[walking[now] & (push[now] > 0.0)]
    speed = p["speed_ground_x"]
    toward = np.sign(frames.stick_x[now])
    before, after = speed[now - 1] * toward, speed[now] * toward
    begins = np.abs(before) < EXACT
    start, gain = line(push[now][begins], after[begins])
    top = Measured()
    if start.value is not None and gain.value is not None:
        strength = WALK_GAIN * (start.value + gain.value * push[now])
        grows = (before > FAST * push[now]) & (after > before + EXACT)
        with np.errstate(divide="ignore", invalid="ignore"):
            tops = before / (1.0 - (after - before) / strength) / push[now]
        top = mode(tops[grows & (tops > 0.0) & (tops < 10.0)], 1e-3)
    if top.value is None:
        still = np.abs(after - before) < EXACT
        top = mode((after / push[now])[still & (before > FAST * push[now])], 2e-3, "from speeds that stay")
    return {"walk_start": start, "walk_acceleration": gain, "walk_max": _rounded(top)}


def _traction(frames: Frames) -> Measured:
    """Above the top speed of a walk players slow down twice as fast, so that half of the usual slowdown counts."""
    now = steady(frames)
    p = frames.p
    slides = np.isin(p["action"], SLIDES) & (p["on_ground"] == 1)
    now = now[slides[now] & slides[now - 1] & (p["action"][now] == p["action"][now - 1])]
    before, after = np.abs(p["speed_ground_x"][now - 1]), np.abs(p["speed_ground_x"][now])
    loss = (before - after)[after > EXACT]
    loss = loss[loss > EXACT]
    usual = mode(loss)
    if usual.value is None:
        return usual
    half = mode(loss[np.abs(loss - usual.value / 2) < EXACT])
    return half._replace(of=usual.of) if half.frames > SHARE * usual.frames else usual


def _dash(frames: Frames, runs: Runs) -> dict[str, Measured]:
    p, push = frames.p, np.abs(frames.stick_x)
    forward = p["speed_ground_x"] * p["facing"]
    first = runs.first[(runs.action == a.DASH) & frames.linked[runs.first]]
    first = first[forward[first - 1] * p["facing"][first] * p["facing"][first - 1] >= 0.0]
    start = mode(forward[first])
    now = steady(frames)
    ahead = (frames.stick_x * p["facing"] > 0.0) & (forward > 0.0)
    now = now[ahead[now] & (p["facing"][now] == p["facing"][now - 1]) & (p["action"][now] == p["action"][now - 1])]
    dashes = now[(p["action"][now] == a.DASH) & (p["action_frame"][now] > 1.0)]
    running = now[p["action"][now] == a.RUN]
    gained = forward[running] - forward[running - 1]
    top = mode((forward[running] / push[running])[np.abs(gained) < EXACT / 10], 2e-3, "from speeds that stay")
    more = forward[dashes] - forward[dashes - 1]
    short = more > EXACT
    if top.value is not None:
        short &= forward[dashes] < top.value * push[dashes] - 10 * EXACT
    sticks, steps = push[dashes][short], more[short]
    if top.value is not None:  # a run comes nearer to its top speed by a share of what is missing
        missing = 1.0 - forward[running - 1] / (top.value * push[running])
        clear = (missing > CLEAR) & (gained > EXACT)
        sticks = np.concatenate([sticks, push[running][clear]])
        steps = np.concatenate([steps, gained[clear] / (RUN_GAIN * missing[clear])])
    step, stick = line(sticks, steps)
    if step.value is not None and stick.value is not None:
        whole = step.value + stick.value * push[dashes]
        reached = (more >= 0.0) & (more < whole - EXACT)
        exact = mode((forward[dashes] / push[dashes])[reached], 1e-3)
        top = exact if exact.frames > top.frames else top
    return {
        "dash_start": start,
        "dash_acceleration": step,
        "dash_acceleration_stick": stick,
        "dash_to_run": last_frame(frames, runs, a.DASH, (a.RUN,)),
        "dash_frames": last_frame(frames, runs, a.DASH, (a.WAIT,)),
        "run_max": _rounded(top),
    }


def _turns(frames: Frames, runs: Runs) -> dict[str, Measured]:
    p = frames.p
    now = steady(frames)
    same = p["action"][now] == p["action"][now - 1]
    turned = p["facing"][now] != p["facing"][now - 1]
    turns = now[same & turned & (p["action"][now] == a.TURN) & (p["action_frame"][now] > DASH_TURN_FLIP)]
    rests = now[same & (p["action"][now] == a.TURN_RUN)]
    stays = p["action_frame"][rests] == p["action_frame"][rests - 1]
    return {
        "turn_flip": mode(np.asarray(p["action_frame"][turns]), 0.01),
        "turn_frames": last_frame(frames, runs, a.TURN, (a.WAIT,)),
        "run_turn_break": mode(np.asarray(p["action_frame"][rests[stays]]), 0.01),
        "run_turn_frames": last_frame(frames, runs, a.TURN_RUN, (a.RUN, a.WAIT)),
    }


def _rounded(measured: Measured) -> Measured:
    """Top speeds are worked out from small changes: three digits are known."""
    return measured if measured.value is None else measured._replace(value=round(measured.value, 3))
