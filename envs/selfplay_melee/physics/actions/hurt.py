"""Being hurt: what a player may do during and after hitstun."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_X
from selfplay_melee.physics.actions import air, ground
from selfplay_melee.physics.change import enter, rest, start_fall
from selfplay_melee.physics.hits.damage import is_flying, wiggled
from selfplay_melee.physics.inputs import jump_pressed

JUMP_BUFFER = 20.0  # last frames of hitstun in which a jump can be asked for ahead


@rule
def decide_hurt(p, m, c, tables):
    """After hitstun a player may act, or let the animation end."""
    over = _hurt(p, tables.actions[m.character_row, p.action].frames)
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
def _hurt(p, frames):
    """One frame of being hurt; whether the animation is over. Its end is shown until the end of hitstun."""
    p.hitstun = max(p.hitstun - 1.0, 0.0)
    p.action_frame = min(p.action_frame, frames + 1.0)
    return p.action_frame > frames


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
