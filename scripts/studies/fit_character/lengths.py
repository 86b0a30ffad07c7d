"""Lengths of actions and the frames on which players cannot be hit, from replays."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from scripts.studies.fit_character.samples import Bools, Frames, Measured, Runs, mode
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.ledge import INTANGIBLE_FRAMES

ENDS: Final = {
    a.SQUAT: (a.SQUAT_WAIT,),
    a.JUMP_F: (a.FALL,),
    a.JUMP_B: (a.FALL,),
    a.JUMP_AERIAL_F: (a.FALL_AERIAL, a.FALL),
    a.JUMP_AERIAL_B: (a.FALL_AERIAL, a.FALL),
    a.AIR_DODGE: (a.FALL_SPECIAL,),
    a.TEETER: (a.TEETER_WAIT,),
    a.DOWN_BOUND_UP: (a.DOWN_WAIT_UP,),
    a.DOWN_BOUND: (a.DOWN_WAIT,),
    a.CLIFF_CATCH: (a.CLIFF_WAIT,),
    a.CLIFF_JUMP_SLOW_1: (a.CLIFF_JUMP_SLOW_2,),
    a.CLIFF_JUMP_QUICK_1: (a.CLIFF_JUMP_QUICK_2,),
    a.CLIFF_JUMP_SLOW_2: (a.FALL,),
    a.CLIFF_JUMP_QUICK_2: (a.FALL,),
    a.PLATFORM_DROP: (a.FALL,),
    a.RAPID_JAB_START: (a.RAPID_JAB_LOOP,),
    a.DTILT: (a.SQUAT_WAIT,),
    a.CATCH_ATTACK: (a.CATCH_WAIT,),
}
"""What follows an action that is not interrupted; others end standing, aerials falling."""
MEASURED: Final = (
    *(a.JUMP_F, a.JUMP_B, a.JUMP_AERIAL_F, a.JUMP_AERIAL_B),
    *(*range(a.JAB_1, a.LANDING_DAIR + 1), a.GUARD_OFF),
    *range(a.DOWN_BOUND_UP, a.CEILING_TECH + 1),
    *range(a.CATCH, a.THROW_D + 1),
    *range(a.ROLL_F, a.AIR_DODGE + 1),
    *(a.PLATFORM_DROP, a.TEETER, a.CLIFF_CATCH, *range(a.CLIFF_CLIMB_SLOW, a.TAUNT_LEFT + 1)),
)
AFTER_REBIRTH: Final = 140  # frames for which a player cannot be hit after coming back
MOST: Final = 0.9  # share of the times on which a frame that cannot be hit shows it
STRETCHED: Final = (a.LANDING_FALL_SPECIAL, *range(a.LANDING_NAIR, a.LANDING_DAIR + 1))


class Span(NamedTuple):
    """Frames of an action on which the player cannot be hit; ``seen`` of all its frames were."""

    first: int
    last: int
    uses: int
    sure: bool  # whether the frames next to both ends were seen, vulnerable


def action_lengths(frames: Frames, runs: Runs) -> dict[int, Measured]:
    """The last frame of each action that ran out, by number of the action."""
    made = {}
    for action in MEASURED:
        if action in STRETCHED:
            continue
        aerial = a.NAIR <= action <= a.DAIR
        following = ENDS.get(action, (a.FALL,) if aerial else (a.WAIT,))
        chosen = (runs.action == action) & runs.undisturbed & np.isin(runs.following, following)
        found = mode(np.floor(frames.p["action_frame"][runs.last[chosen]]), 0.01)
        if found.of:
            made[action] = found
    return made


def hurt_lengths(frames: Frames, runs: Runs) -> dict[int, Measured]:
    """The last frame of each action of being hurt that ran out, or whose end was shown until hitstun was over."""
    p = frames.p
    frame = p["action_frame"]
    held = frames.linked.copy()
    held[1:] &= (frame[1:] == frame[:-1]) & (p["hitlag"][1:] == 0.0) & (p["hitlag"][:-1] == 0.0)
    held_at_last = held[runs.last]
    made = {}
    for action in range(a.DAMAGE_HIGH_1, a.DAMAGE_FLY_ROLL):
        mine = runs.action == action
        following = (a.DAMAGE_FALL,) if action >= a.DAMAGE_FLY_HIGH else (a.WAIT, a.FALL)
        ended = mine & ~held_at_last & np.isin(runs.following, following) & (p["hitstun"][runs.last] <= 1.0)
        found = mode(np.concatenate([frame[runs.last[ended]], frame[runs.last[mine & held_at_last]] - 1.0]), 0.01)
        if found.of:
            made[action] = found
    return made


def landing_lags(frames: Frames, runs: Runs) -> dict[int, tuple[Measured, Measured]]:
    """Frames in the landing of each aerial, not cancelled and cancelled, by number of the aerial."""
    made = {}
    ended = runs.undisturbed & frames.linked[runs.first] & (runs.following > 0) & (runs.following != a.FALL)
    lengths = (runs.last - runs.first + 1).astype(float)
    cancelled = frames.l_cancel[runs.first]
    for aerial in range(a.NAIR, a.DAIR + 1):
        landed = ended & (runs.action == aerial - a.NAIR + a.LANDING_NAIR)
        pair = mode(lengths[landed & (cancelled == 2)], 0.01), mode(lengths[landed & (cancelled == 1)], 0.01)
        if pair[0].of + pair[1].of:
            made[aerial] = pair
    return made


def intangible_spans(frames: Frames, runs: Runs) -> dict[int, Span]:
    """By number of the action: the frames on which players cannot be hit because of it."""
    p = frames.p
    own = _by_action(frames)
    lengths = action_lengths(frames, runs)
    made: dict[int, Span] = {}
    for action in (*MEASURED, *np.unique(p["action"][p["action"] >= a.FIRST_SPECIAL]).tolist()):
        rows = np.flatnonzero((p["action"] == action) & own & (p["hitlag"] == 0.0) & (p["invulnerable"] >= 0))
        if not len(rows):
            continue
        frame = np.floor(p["action_frame"][rows]).astype(int)
        frame, hidden = frame[frame >= 0], p["invulnerable"][rows][frame >= 0]
        if not hidden.any():
            continue
        seen = np.bincount(frame)
        share = np.bincount(frame, hidden) / np.maximum(seen, 1)
        inside = np.flatnonzero((share >= MOST) & (seen >= 1))
        if not len(inside):
            continue
        first, last = int(inside[0]), int(inside[-1])
        begins = first <= 1 or (seen[first - 1] > 0 and share[first - 1] <= 1.0 - MOST)
        after = last + 1 < len(seen) and seen[last + 1] > 0 and share[last + 1] <= 1.0 - MOST
        ends = after or (action in lengths and lengths[action].value == last)
        made[action] = Span(first, last, int((runs.action == action).sum()), bool(ends and begins))
    return made


def _by_action(frames: Frames) -> Bools:
    """Frames on which neither coming back nor a ledge protects the player; ledge actions count."""
    p = frames.p
    index = np.arange(len(p))
    ledge = (p["action"] == a.CLIFF_CATCH) & (p["action_frame"] <= 1.0)
    away = p["action"] <= a.REBIRTH_WAIT
    climbs = (p["action"] >= a.CLIFF_CATCH) & (p["action"] <= a.CLIFF_JUMP_QUICK_2)
    since_ledge = index - np.maximum.accumulate(np.where(ledge, index, -(10**6)))
    since_away = index - np.maximum.accumulate(np.where(away, index, -(10**6)))
    free: Bools = (since_away > AFTER_REBIRTH) & (climbs | (since_ledge > INTANGIBLE_FRAMES))
    return free
