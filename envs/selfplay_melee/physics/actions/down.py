"""Lying on the ground after a fall: techs, bouncing, weak hits and getting up."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_A, BUTTON_B, BUTTON_Z
from selfplay_melee.physics.angles import TAN_50
from selfplay_melee.physics.change import enter, finished, rest, start_fall, touch_ground
from selfplay_melee.physics.inputs import JUMP_STICK

TECH_WINDOW = 20
TOP_FACE_UP = 44.0  # frames of flying upwards, and
FACE_UP = 22.0  # of the other flights, after which a player falls on the belly
LONGEST_LIE = 220.0  # frames on the ground before getting up by itself
DOWN_DAMAGE_FRAMES = 13.0  # of the animation of being hurt on the ground
ROLL_SLOPE = TAN_50  # of the stick, from which it asks for standing up instead of a roll
BACK_BOUNCE, BELLY_BOUNCE, BOUNCE_END = 3.0, 2.0, 22.0  # frames of falling down; measured from replays


@rule
def is_down(p):
    """Lying on the ground, on the back or on the belly."""
    on_back = a.DOWN_BOUND_UP <= p.action <= a.DOWN_DAMAGE_UP
    return on_back or a.DOWN_BOUND <= p.action <= a.DOWN_DAMAGE


@rule
def is_bouncing(action, frame):
    """Bouncing after a fall: in the air, but at the height of the ground."""
    back = action == a.DOWN_BOUND_UP and frame >= BACK_BOUNCE
    return (back or (action == a.DOWN_BOUND and frame >= BELLY_BOUNCE)) and frame < BOUNCE_END


@rule
def meet_floor(p, m, s, surface):
    """A tumbling player reaches the floor: tech, or lie down."""
    if m.tech_age >= TECH_WINDOW:
        lie_down(p, m, s, surface)
        return
    _touch_floor(p, m, s, surface)
    if m.stick_x != 0.0:
        enter(p, m, a.TECH_F if m.stick_x * p.facing > 0.0 else a.TECH_B)
    else:
        enter(p, m, a.TECH)


@rule
def lie_down(p, m, s, surface):
    """Fall on the floor without a tech."""
    face_up = p.action_frame < (TOP_FACE_UP if p.action == a.DAMAGE_FLY_TOP else FACE_UP)
    _touch_floor(p, m, s, surface)
    enter(p, m, a.DOWN_BOUND_UP if face_up else a.DOWN_BOUND)


@rule
def _touch_floor(p, m, s, surface):
    touch_ground(p, m, s, surface)
    p.speed_attack_y = 0.0
    p.hitstun = 0.0


@rule
def down(p, m, tables):
    """Lying on the ground after a missed tech. Source: doldecomp/melee, ftCo_DownBound.c and ftCo_DownDamage.c."""
    side = a.DOWN_BOUND_UP - a.DOWN_BOUND if p.action <= a.DOWN_DAMAGE_UP else 0  # on the back, or on the belly
    m.lie_for -= 1.0
    if p.action == a.DOWN_BOUND + side:
        _fall_down(p, m, tables, side)
    elif p.action == a.DOWN_DAMAGE + side:
        _hurt_lying(p, m, side)
    elif m.lie_for <= 0.0:
        enter(p, m, a.DOWN_STAND + side)
    else:
        _get_up(p, m, side)


@rule
def _fall_down(p, m, tables, side):
    """Bouncing; a button pressed meanwhile attacks at its end, and the stick of the frame before rolls."""
    if not finished(p, m, tables):
        if m.pressed & (BUTTON_A | BUTTON_B | BUTTON_Z):
            m.jab_again = 1
        return
    if m.jab_again:
        enter(p, m, a.DOWN_ATTACK + side)
    elif not _roll(p, m, side, m.stick_x_before, m.stick_y_before):
        enter(p, m, a.DOWN_WAIT + side)
        m.lie_for = LONGEST_LIE
        _get_up(p, m, side)


@rule
def _hurt_lying(p, m, side):
    """A weak hit on a lying player, who stands up by itself if the stun is over with the animation."""
    p.hitstun = max(p.hitstun - 1.0, 0.0)
    if p.action_frame <= DOWN_DAMAGE_FRAMES:
        return
    p.hitstun = 0.0
    if not p.on_ground:
        start_fall(p, m)
    elif m.lie_for <= 0.0:
        enter(p, m, a.DOWN_STAND + side)
    else:
        enter(p, m, a.DOWN_WAIT + side)


@rule
def _get_up(p, m, side):
    """Attack, roll or stand up, in this order."""
    if m.pressed & (BUTTON_A | BUTTON_B | BUTTON_Z) or m.c_y_before < JUMP_STICK <= m.c_y:
        enter(p, m, a.DOWN_ATTACK + side)
    elif not _roll(p, m, side, m.stick_x, m.stick_y):
        shield_pressed = m.trigger > 0.0 and m.trigger_before == 0.0
        if shield_pressed or (m.stick_y > 0.0 and m.stick_y >= ROLL_SLOPE * abs(m.stick_x)):
            enter(p, m, a.DOWN_STAND + side)


@rule
def _roll(p, m, side, x, y):
    """Roll if the stick, or the c-stick just now, is out to a side."""
    if x == 0.0 or y >= ROLL_SLOPE * abs(x):
        x = m.c_x if m.c_x_before == 0.0 and m.c_y < ROLL_SLOPE * abs(m.c_x) else 0.0
    if x == 0.0:
        return False
    enter(p, m, side + (a.DOWN_ROLL_F if x * p.facing > 0.0 else a.DOWN_ROLL_B))
    return True


@rule
def get_up(p, m, tables):
    """Techs and the ways of getting up."""
    if finished(p, m, tables):
        p.speed_ground_x = 0.0
        rest(p, m)
