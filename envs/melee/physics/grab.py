"""Grabs: holding, pummelling, throwing and breaking free. ``hit`` resolves the grabs of both players."""

from __future__ import annotations

from envs.compile import rule
from envs.melee import actions as a
from envs.melee.controller import BUTTON_A
from envs.melee.physics.change import enter, finished, leave_ground, rest, turn_around
from envs.melee.physics.inputs import TILT
from envs.melee.physics.motion import sign
from envs.melee.physics.stage import over_floor

PULL_FRAMES = 2.0
HOLD_FRAMES = 90.0  # plus
HOLD_PER_PERCENT = 1.7
MASH_FRAMES = 6.0  # that an input of the held player takes off
FULL_WEIGHT = 100.0  # of a victim that a throw which goes by weight takes its own time for
CUT_FRAMES = 30.0
CUT_SPEED = 1.5


@rule
def is_held(p):
    """Whether the other player holds this one."""
    return a.CAPTURE_PULLED_HIGH <= p.action <= a.CAPTURE_DAMAGE or a.THROWN_F <= p.action <= a.THROWN_D


@rule
def is_holding(p):
    """Whether this player holds the other one."""
    return (
        p.action == a.CATCH_PULL
        or p.action == a.CATCH_DASH_PULL
        or a.CATCH_WAIT <= p.action <= a.CATCH_ATTACK
        or a.THROW_F <= p.action <= a.THROW_D
    )


@rule
def catch(p, m, tables):
    """Reaching out."""
    if finished(p, m, tables):
        rest(p, m)


@rule
def hold(p, m, tables):
    """Holding: pummel with A, throw along the stick."""
    if p.action == a.CATCH_PULL or p.action == a.CATCH_DASH_PULL:
        if p.action_frame >= m.duration:
            enter(p, m, a.CATCH_WAIT)
        return
    if p.action == a.CATCH_ATTACK:
        if finished(p, m, tables):
            enter(p, m, a.CATCH_WAIT)
        return
    x = m.c_x if m.c_pressed else m.stick_x
    y = m.c_y if m.c_pressed else m.stick_y
    if max(abs(x), abs(y)) >= 2.0 * TILT and (m.c_pressed or m.x_age <= 2 or m.y_age <= 2):
        enter(p, m, _throw(x * p.facing, y))
    elif m.pressed & BUTTON_A:
        enter(p, m, a.CATCH_ATTACK)


@rule
def _throw(forward, up):
    if abs(up) > abs(forward):
        return a.THROW_U if up > 0.0 else a.THROW_D
    return a.THROW_F if forward > 0.0 else a.THROW_B


@rule
def throw(p, m, tables):
    """The rest of a throw."""
    turn_around(p, m, tables)
    if finished(p, m, tables):
        rest(p, m)


@rule
def cut(p, m):
    """Stagger after a broken grab; both players do."""
    if p.action_frame > CUT_FRAMES:
        rest(p, m)


@rule
def start_hold(p, m, other, memory):
    """Seat ``p`` has caught ``other``."""
    enter(p, m, a.CATCH_DASH_PULL if p.action == a.CATCH_DASH else a.CATCH_PULL)
    m.duration = PULL_FRAMES
    p.speed_ground_x = 0.0
    enter(other, memory, a.CAPTURE_PULLED)
    other.facing = -p.facing
    _stop(other, memory)
    memory.held_for = HOLD_FRAMES + HOLD_PER_PERCENT * other.percent


@rule
def _stop(p, m):
    p.speed_air_x = 0.0
    p.speed_ground_x = 0.0
    p.speed_y = 0.0
    p.speed_attack_x = 0.0
    p.speed_attack_y = 0.0
    p.hitstun = 0.0
    p.hitlag = 0.0
    m.launch = 0
    m.fast_fall = 0
    m.ledge = 0


@rule
def follow(p, m, tables, other, memory):
    """Keep the held ``other`` in front of its holder ``p`` and in the matching action; they may break free."""
    other.x = p.x + p.facing * tables.characters[m.character_row].grab_hold_x
    other.y = over_floor(tables.stages[m.stage_row], other.x, p.y)
    other.on_ground = 0
    memory.surface = -1
    if a.THROW_F <= p.action <= a.THROW_D:
        if other.action != p.action + (a.THROWN_F - a.THROW_F):
            enter(other, memory, p.action + (a.THROWN_F - a.THROW_F))
            if tables.actions[m.character_row, p.action].by_weight:
                m.rate = FULL_WEIGHT / tables.characters[memory.character_row].weight
                p.action_frame = m.rate
        return
    if p.action == a.CATCH_WAIT and other.action == a.CAPTURE_PULLED:
        enter(other, memory, a.CAPTURE_WAIT)
    memory.held_for -= 1.0 + MASH_FRAMES * memory.mashed
    if memory.held_for <= 0.0 and p.action == a.CATCH_WAIT:
        _break(p, m, -p.facing)
        _break(other, memory, p.facing)


@rule
def _break(p, m, direction):
    if p.on_ground:
        p.speed_ground_x = CUT_SPEED * direction
        enter(p, m, a.CATCH_CUT)
    else:
        leave_ground(p, m)
        p.speed_air_x = CUT_SPEED * direction
        enter(p, m, a.CAPTURE_CUT)


@rule
def let_go(p, m, tables, other, point):
    """Put ``other`` where a throw releases it; where it was held if the tables do not say."""
    x, y = tables.points[point]
    if x != 0.0 or y != 0.0:
        other.x = p.x + p.facing * x
        other.y = over_floor(tables.stages[m.stage_row], other.x, p.y + y)


@rule
def release(p, m):
    """Free a held player whose holder was hit."""
    enter(p, m, a.CAPTURE_CUT)
    p.speed_air_x = -CUT_SPEED * sign(p.facing)
    p.speed_y = 0.0
