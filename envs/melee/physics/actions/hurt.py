"""Being hurt: what a player may do during and after hitstun."""

from __future__ import annotations

from envs.compile import rule
from envs.melee import actions as a
from envs.melee.controller import BUTTON_X
from envs.melee.physics.actions import air, ground
from envs.melee.physics.change import enter, rest, start_fall
from envs.melee.physics.hits.damage import is_flying, wiggled
from envs.melee.physics.inputs import jump_pressed

LIGHT_FRAMES, MIDDLE_FRAMES, STRONG_FRAMES = 11.0, 23.0, 29.0  # of the animations of being hurt
TOP_FRAMES, ROLL_FRAMES = 59.0, 15.0  # of flying upwards and of rolling over; other flights last like a strong hit
JUMP_BUFFER = 20.0  # last frames of hitstun in which a jump can be asked for ahead


@rule
def decide_hurt(p, m, c):
    """After hitstun a player may act, or let the animation end."""
    over = _hurt(p)
    if p.hitstun > 0.0:
        buffer_jump(p, m)
    elif is_flying(p):
        _decide_flying(p, m, c, over or p.action == a.DAMAGE_FLY_ROLL)
    else:
        _use_buffer(m)
        if not (ground.ground_options(p, m, c) if p.on_ground else air.air_options(p, m, c)) and over:
            rest(p, m)


@rule
def _decide_flying(p, m, c, over):
    if p.on_ground:
        rest(p, m)
        return
    if over:
        _use_buffer(m)
    if air.tumble_options(p, m, c):
        return
    if wiggled(m):
        start_fall(p, m)
    elif over:
        enter(p, m, a.DAMAGE_FALL)


@rule
def _hurt(p):
    """One frame of being hurt; whether the animation is over. Its last frame lasts until the end of hitstun."""
    p.hitstun = max(p.hitstun - 1.0, 0.0)
    last = _last_frame(p.action)
    over = p.action_frame > last
    p.action_frame = min(p.action_frame, last)
    return over


@rule
def _last_frame(action):
    if action == a.DAMAGE_FLY_TOP:
        return TOP_FRAMES
    if action == a.DAMAGE_FLY_ROLL:
        return ROLL_FRAMES
    if action >= a.DAMAGE_FLY_HIGH:
        return STRONG_FRAMES
    level = (action - a.DAMAGE_HIGH_1) % 3
    return LIGHT_FRAMES if level == 0 else MIDDLE_FRAMES if level == 1 else STRONG_FRAMES


@rule
def buffer_jump(p, m):
    """Note a jump that is asked for during hitstun."""
    if jump_pressed(m):
        m.jump_buffer = p.hitstun


@rule
def _use_buffer(m):
    """After hitstun, press the jump that was asked for ahead."""
    if 0.0 < m.jump_buffer <= JUMP_BUFFER:
        m.pressed |= BUTTON_X
