"""What happens to a player on the ground at an edge, and balancing on it.

The rules follow the decompiled game (doldecomp/melee, ft_081B.c, mpcoll.c and ftCo_Ottotto.c).
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.ground import action_options, flick_options, start_squat, start_turn, walk_option
from selfplay_melee.physics.change import enter, finished
from selfplay_melee.physics.inputs import CROUCH_STICK

STOPS, FALLS, TEETERS = 0, 1, 2
LEAVE_STICK = 0.75  # the stick this far over the edge walks over it


@rule
def edge_outcome(p, m, edge):
    """Whether the player stops at this edge, -1 left or +1 right, falls off it or balances on it."""
    action = p.action
    if p.hitstun > 0.0:
        return FALLS
    lying = a.DOWN_BOUND_UP <= action <= a.DOWN_STAND_UP or a.DOWN_BOUND <= action <= a.DOWN_STAND
    if lying or action == a.TECH:
        return FALLS
    standing = action <= a.WALK_FAST or action == a.RUN_BRAKE
    landing = a.LANDING <= action <= a.LANDING_FALL_SPECIAL or a.LANDING_NAIR <= action <= a.LANDING_DAIR
    if standing or landing:
        if m.push * p.facing < 0.0:  # pushed backwards
            return STOPS
        return TEETERS if edge == p.facing and m.stick_x * edge < LEAVE_STICK else FALLS
    moving = action <= a.JUMP_SQUAT and action != a.TURN_RUN
    if moving or a.SQUAT <= action <= a.SQUAT_RISE or a.GUARD_ON <= action <= a.GUARD_REFLECT:
        return FALLS
    return FALLS if action >= a.FIRST_SPECIAL and edge != p.facing else STOPS


@rule
def stop_at_edge(p, m, outcome):
    """Stand at the edge: balancing and a turn out of a run take the speed, an attack slides on against it."""
    if outcome == TEETERS:
        enter(p, m, a.TEETER)
    if outcome == TEETERS or p.action == a.TURN_RUN:
        p.speed_ground_x = 0.0
        p.speed_air_x = 0.0


@rule
def teeter(p, m, c, tables):
    """Balance on an edge, able to act."""
    if p.action == a.TEETER and finished(p, m, tables):
        enter(p, m, a.TEETER_WAIT)
    if action_options(p, m, c) or flick_options(p, m):
        return
    if m.stick_y <= CROUCH_STICK:
        start_squat(p, m)
    elif m.stick_x * p.facing < 0.0:
        start_turn(p, m, False)
    elif m.stick_x * p.facing >= LEAVE_STICK:
        walk_option(p, m, c)
