"""Changing from one action to another."""

from __future__ import annotations

import numpy as np

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.hits.stale import same_use
from selfplay_melee.physics.memory import STALE_QUEUE
from selfplay_melee.physics.stages.stage import surface_height
from selfplay_melee.tables.layout import HULL_FRAMES


def _first_frames():
    """[NUM_ACTIONS] frame of an action that a replay shows on its first frame, 0 or 1, as measured from replays.

    A shield has no animation that runs: -1 throughout.
    """
    first = np.zeros(a.NUM_ACTIONS, np.float64)
    first[[a.GUARD_ON, a.GUARD, a.GUARD_REFLECT]] = -1.0
    for begin, end in (
        (a.WALK_SLOW, a.TURN),
        (a.DASH, a.DASH),
        (a.SQUAT, a.SQUAT),
        (a.JAB_1, a.DAIR),
        (a.DAMAGE_HIGH_1, a.DAMAGE_FLY_ROLL),
        (a.DOWN_WAIT_UP, a.DOWN_DAMAGE_UP),
        (a.DOWN_ATTACK_UP, a.DOWN_ROLL_B_UP),
        (a.DOWN_WAIT, a.DOWN_DAMAGE),
        (a.DOWN_ATTACK, a.DOWN_ROLL_B),
        (a.SHIELD_BREAK_FLY, a.SHIELD_BREAK_FLY),
        (a.THROW_F, a.THROW_D),
        (a.ROLL_F, a.AIR_DODGE),
        (a.THROWN_F, a.THROWN_D),
        (a.CLIFF_CATCH, a.CLIFF_CATCH),
        (a.CLIFF_CLIMB_SLOW, a.TAUNT_LEFT),
        (a.FIRST_SPECIAL, a.NUM_ACTIONS - 1),
    ):
        first[begin : end + 1] = 1.0
    return first


HULL_LOCK = 10  # frames; a jump begins before the first of them is counted (doldecomp/melee ftcommon.c, fighter.c)
LEAN_FROM = 0.1  # share of the largest speed in the air; this and LEAN_SHARE fitted, the rule: ftCo_Fall.c
LEAN_SHARE = 0.5  # of the way to the lean that the speed asks for, a frame
FIRST_FRAME = _first_frames()
FIRST_RATE = np.where(FIRST_FRAME < 0.0, 0.0, 1.0)


@rule
def enter(p, m, action):
    """Start an action."""
    if not same_use(p.action, action):
        m.staled = 0
    p.action = action
    p.action_frame = FIRST_FRAME[action]
    m.duration = 0.0
    m.rate = FIRST_RATE[action]
    m.age = 0
    m.hit_groups = 0
    m.charge = 0.0
    m.jab_again = 0
    m.drop_from = -1
    m.lean = 0.0
    m.lean_side = 0


@rule
def finished(p, m, tables):
    """Whether the action has run its length, by the tables or ``m.duration``."""
    frames = tables.actions[m.character_row, p.action].frames
    if m.rate != 1.0 and frames > 0:
        return p.action_frame >= frames + 1
    return p.action_frame > (frames if frames > 0 else m.duration)


@rule
def turn_around(p, m, tables):
    """Turn around on the frame that the tables give."""
    turns = tables.actions[m.character_row, p.action].turns
    if turns > 0 and p.action_frame >= turns > p.action_frame - m.rate:
        p.facing = -p.facing


@rule
def lock_hull(m):
    """Leaving the ground, a jump in the air and taking a ledge keep the bottom of the hull where it is for a while."""
    m.hull_lock = HULL_LOCK


@rule
def leans(action):
    """Whether a fall leans the way it drifts: its animation is mixed with one that leans forward or backward."""
    return action == a.FALL or action == a.FALL_AERIAL or action == a.FALL_SPECIAL


@rule
def lean(p, m, c):
    """Lean further towards the sideways speed of the frame before."""
    if not leans(p.action):
        return
    drift = min(abs(p.speed_air_x) / c.air_max, 1.0)
    m.lean_side = 0 if drift <= LEAN_FROM else 1 if p.speed_air_x * p.facing > 0.0 else 2
    m.lean += LEAN_SHARE * (max(drift - LEAN_FROM, 0.0) / (1.0 - LEAN_FROM) - m.lean)


@rule
def hull_height(p, m, tables):
    """Units from the feet up to the lowest point that meets floors, in the air."""
    if m.hull_lock > 0:
        return m.hull
    frame = min(max(int(p.action_frame), 0), HULL_FRAMES - 1)
    height = tables.hull[m.character_row, p.action, frame]
    if m.lean_side > 0:
        height += m.lean * (tables.hull[m.character_row, p.action + m.lean_side, frame] - height)
    return height


@rule
def rest_hull(p, m, tables):
    """Update the hull of a player who does not move: its lock runs out in hitlag too."""
    m.hull_lock = max(m.hull_lock - 1, 0)
    m.hull = 0.0 if p.on_ground else hull_height(p, m, tables)


@rule
def leave_ground(p, m):
    """Become airborne and keep the ground speed."""
    if p.on_ground:
        p.on_ground = 0
        m.surface = -1
        p.speed_air_x = p.speed_ground_x
        p.speed_ground_x = 0.0
        p.speed_y = 0.0
        p.jumps_left = min(p.jumps_left, m.air_jumps)
        lock_hull(m)
        m.fast_fall = 0


@rule
def start_fall(p, m):
    """Fall freely, able to act."""
    leave_ground(p, m)
    enter(p, m, a.FALL)


@rule
def start_fall_special(p, m, landing_lag, share, hard):
    """Fall helplessly, with this share of the character's drift.

    Landing will cost ``landing_lag`` frames, and nothing in a slow fall unless it is ``hard``.
    """
    leave_ground(p, m)
    enter(p, m, a.FALL_SPECIAL)
    m.landing_lag = landing_lag
    m.fall_drift = share
    m.lands_hard = hard


@rule
def rest(p, m):
    """Stand if on the ground, else fall."""
    if p.on_ground:
        enter(p, m, a.WAIT)
    else:
        start_fall(p, m)


@rule
def touch_ground(p, m, s, surface):
    """Stand on a surface: jumps are restored, air speed becomes ground speed."""
    p.on_ground = 1
    m.surface = surface
    p.y = surface_height(m, s, surface, p.x)
    p.speed_ground_x = p.speed_air_x
    p.speed_y = 0.0
    p.jumps_left = m.air_jumps + 1
    m.fast_fall = 0
    m.hull = 0.0
    m.hull_lock = 0
    m.risen = 0
    m.drop_from = -1


@rule
def forget_moves(m):
    """Empty the staleness queue."""
    for i in range(STALE_QUEUE):
        m.stale[i] = -1
