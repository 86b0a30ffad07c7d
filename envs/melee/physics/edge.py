"""Players on the ground who reach the end of a surface: some fall, some stop, some teeter.

Source: doldecomp/melee, ft_081B.c and mpcoll.c (which actions do what), ftCo_Ottotto.c (teetering). Standing, walking,
running and landing players stop and teeter if they face the edge and do not hold the stick towards it; dashing,
turning, crouching and hurt ones fall; attacks, rolls and grabs stop.
"""

from __future__ import annotations

from envs.compile import rule
from envs.melee import actions as a
from envs.melee.physics.change import enter, finished
from envs.melee.physics.ground import ground_options

STOPS, TEETERS, FALLS = 0, 1, 2
HELD_STICK = 0.75  # towards the edge, from which on nobody teeters
TEETER_FRAMES = 12.0  # before ``TEETER_WAIT``


@rule
def at_edge(p, m, edge):
    """What becomes of a player past the edge on side ``edge`` (-1 or +1): STOPS, TEETERS or FALLS."""
    if p.hitstun > 0.0 or _lets_fall(p.action):
        return FALLS
    if not _lets_teeter(p.action):
        return STOPS
    if m.push * p.facing < 0.0:
        return STOPS  # who is pushed backwards
    return TEETERS if edge * p.facing > 0.0 and m.stick_x * edge < HELD_STICK else FALLS


@rule
def _lets_fall(action):
    if a.TURN <= action <= a.DASH or action == a.JUMP_SQUAT or a.SQUAT <= action <= a.SQUAT_RISE:
        return True
    lying = a.DOWN_BOUND_UP <= action <= a.DOWN_STAND_UP or a.DOWN_BOUND <= action <= a.DOWN_STAND
    return lying or action == a.TECH or a.DAMAGE_HIGH_1 <= action <= a.GUARD_REFLECT


@rule
def _lets_teeter(action):
    if action == a.WAIT or a.WALK_SLOW <= action <= a.WALK_FAST or a.RUN <= action <= a.RUN_BRAKE:
        return True
    return a.LANDING <= action <= a.LANDING_FALL_SPECIAL or a.LANDING_NAIR <= action <= a.LANDING_DAIR


@rule
def start_teeter(p, m):
    """Lose balance on the edge, able to act."""
    enter(p, m, a.TEETER)
    m.duration = TEETER_FRAMES


@rule
def teeter(p, m, c, tables):
    """Teetering; a stick that is only tilted does not walk off."""
    if p.action == a.TEETER and finished(p, m, tables):
        enter(p, m, a.TEETER_WAIT)
    action, frame, rate, age = p.action, p.action_frame, m.rate, m.age
    ground_options(p, m, c)
    if a.WALK_SLOW <= p.action <= a.WALK_FAST and abs(m.stick_x) < HELD_STICK:
        enter(p, m, action)
        p.action_frame, m.rate, m.age = frame, rate, age
        m.duration = TEETER_FRAMES
