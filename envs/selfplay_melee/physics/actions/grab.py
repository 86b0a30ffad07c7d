"""Grabs: holding, pummelling, throwing and breaking free. ``hit`` resolves the grabs of both players.

Sources: doldecomp/melee (ftCo_Catch*, ftCo_Capture*, ftCo_Throw, ftcommon), constants as in kyhavlov/melee-sim-light;
lengths of animations measured from replays.
"""

from __future__ import annotations

import numpy as np

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_A
from selfplay_melee.physics.change import enter, finished, leave_ground, rest, turn_around
from selfplay_melee.physics.inputs import JUMP_STICK, TILT
from selfplay_melee.physics.motion import sign
from selfplay_melee.physics.stages.stage import over_floor, surface_left, surface_right

HOLD_FRAMES = 75.0  # plus
HOLD_PER_PERCENT = 1.6
BEHIND_FRAMES = 15.0  # less for a player with fewer stocks
MASH_FRAMES = 6.0  # that an input of the held player takes off
MASH_STICK = 0.5
HURT_FRAMES = 19.0  # of a held player's animation of being pummelled
FULL_WEIGHT = 100.0  # of a victim that a throw which goes by weight takes its own time for
CUT_FRAMES = 29.0
CUT_SPEED = 1.0
JUMP_X, JUMP_Y = 1.25, 2.5  # of a held player that jumps free
KIRBY = 4  # internal id of the character that inhales
HIGH = a.CAPTURE_PULLED - a.CAPTURE_PULLED_HIGH  # between the actions of being held over the ground and on it


@rule
def is_inhaled(p):
    """Whether Kirby's mouth holds the player, or draws it in."""
    return p.action == a.CAPTURE_KIRBY or p.action == a.CAPTURE_WAIT_KIRBY


@rule
def has_inhaled(p):
    """Whether the player is Kirby with a full mouth, or until it is full or empty."""
    return p.character == KIRBY and (356 <= p.action <= 370 or 374 <= p.action <= 382)


@rule
def is_held(p):
    """Whether the other player holds this one."""
    caught = a.CAPTURE_PULLED_HIGH <= p.action <= a.CAPTURE_DAMAGE or a.THROWN_F <= p.action <= a.THROWN_D
    return caught or is_confused(p) or is_inhaled(p)


@rule
def is_confused(p):
    """Whether the other player's Confusion holds this one."""
    return p.action == a.CONFUSED or p.action == a.CONFUSED_AIR


@rule
def is_holding(p):
    """Whether this player holds the other one."""
    return (
        p.action == a.CATCH_PULL
        or p.action == a.CATCH_DASH_PULL
        or a.CATCH_WAIT <= p.action <= a.CATCH_ATTACK
        or a.THROW_F <= p.action <= a.THROW_D
        or has_inhaled(p)
    )


@rule
def catch(p, m, tables):
    """Reaching out."""
    if finished(p, m, tables):
        rest(p, m)


@rule
def hold(p, m, tables):
    """Holding: pummel with A, throw along the stick; both also on the frame on which a pull or a pummel ends."""
    if p.action == a.CATCH_PULL or p.action == a.CATCH_DASH_PULL:
        if p.action_frame <= _last_reach(p, m, tables):
            return
        enter(p, m, a.CATCH_WAIT)
    elif p.action == a.CATCH_ATTACK:
        if not finished(p, m, tables):
            return
        enter(p, m, a.CATCH_WAIT)
    if m.pressed & BUTTON_A:
        enter(p, m, a.CATCH_ATTACK)
        return
    action = _throw(p, m)
    if action != 0:
        enter(p, m, action)


@rule
def _last_reach(p, m, tables):
    """The last frame on which the animation of reaching out catches; the pull goes on until then."""
    entry = tables.actions[m.character_row, a.CATCH if p.action == a.CATCH_PULL else a.CATCH_DASH]
    last = 0
    for row in range(entry.first_hit, entry.first_hit + entry.num_hits):
        last = max(last, tables.hits[row].end)
    return last


@rule
def _throw(p, m):
    """The throw that the stick or the c-stick asks for, sideways first; 0 if none."""
    if _crossed(m.stick_x_before, m.stick_x) or _crossed(-m.stick_x_before, -m.stick_x):
        return a.THROW_F if m.stick_x * p.facing > 0.0 else a.THROW_B
    if _crossed(m.c_x_before, m.c_x) or _crossed(-m.c_x_before, -m.c_x):
        return a.THROW_F if m.c_x * p.facing > 0.0 else a.THROW_B
    if _crossed(m.stick_y_before, m.stick_y) or _crossed(m.c_y_before, m.c_y):
        return a.THROW_U
    if _crossed(-m.stick_y_before, -m.stick_y) or max(m.c_y_before, m.c_y) <= -TILT:  # the game's c-stick is late here
        return a.THROW_D
    return 0


@rule
def _crossed(before, now):
    """Whether the stick has come out to the positive side on this frame."""
    return before < TILT <= now


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
    """Seat ``p`` has caught ``other``; the animation of reaching out goes on."""
    frame = p.action_frame
    enter(p, m, a.CATCH_DASH_PULL if p.action == a.CATCH_DASH else a.CATCH_PULL)
    p.action_frame = frame
    p.speed_ground_x = 0.0
    enter(other, memory, a.CAPTURE_PULLED if other.on_ground else a.CAPTURE_PULLED_HIGH)
    other.action_frame = 1.0
    other.facing = -p.facing
    stop_caught(other, memory)
    bind(p, other, memory, HOLD_FRAMES, HOLD_PER_PERCENT, other.percent)


@rule
def bind(p, other, memory, frames, per_percent, percent):
    """Hold ``other`` for these frames, longer by percent, shorter if it has fewer stocks than ``p``."""
    behind = BEHIND_FRAMES if other.stocks < p.stocks else 0.0
    memory.held_for = frames - behind + per_percent * percent
    memory.mash_x = 0
    memory.mash_y = 0


@rule
def stop_caught(p, m):
    """End all motion, hitlag and hitstun of a player who is caught."""
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
def loosen(m):
    """One frame of a held player: time and inputs wear the grip out."""
    m.held_for -= 1.0 + MASH_FRAMES * num_mashed(m)


@rule
def num_mashed(m):
    """How many inputs help a player to get free: a button, and the stick on another side than last.

    Like all that animations decide, it goes by the inputs of the frame before.
    """
    x, y = m.mash_x, m.mash_y
    if abs(m.stick_x_before) > MASH_STICK:
        m.mash_x = int(sign(m.stick_x_before))
    if abs(m.stick_y_before) > MASH_STICK:
        m.mash_y = int(sign(m.stick_y_before))
    moved = x != m.mash_x or y != m.mash_y
    return (1.0 if m.mashed else 0.0) + (1.0 if moved else 0.0)


@rule
def wears_out(action):
    """Whether the grip on a player with this action wears out: while it waits or is pummelled."""
    return action != a.CAPTURE_PULLED and a.CAPTURE_WAIT_HIGH <= action <= a.CAPTURE_DAMAGE


@rule
def break_free(p, m, other, memory):
    """A grip that wore out breaks, but not on a player who is being pummelled; whether it broke."""
    if memory.frozen or not wears_out(other.action):
        return False
    loosen(memory)
    waits = other.action == a.CAPTURE_WAIT or other.action == a.CAPTURE_WAIT_HIGH
    if not waits or memory.held_for > 0.0:
        return False
    enter(p, m, a.CATCH_CUT)
    p.speed_ground_x = -CUT_SPEED * p.facing
    if memory.stick_y_before >= JUMP_STICK:
        leave_ground(other, memory)
        enter(other, memory, a.CAPTURE_JUMP)
        other.speed_air_x = -JUMP_X * other.facing
        other.speed_y = JUMP_Y
        return True
    enter(other, memory, a.CAPTURE_CUT)
    if other.on_ground:
        other.speed_ground_x = -CUT_SPEED * other.facing
    else:
        other.speed_air_x = -CUT_SPEED * other.facing
    return True


@rule
def follow(p, m, tables, other, memory):
    """Keep the held ``other`` in front of its holder ``p`` and in the matching action; before, where it was caught."""
    if p.action < a.CATCH_WAIT and other.on_ground:
        return
    other.x = p.x + p.facing * tables.characters[m.character_row].grab_hold_x
    other.y = over_floor(tables.stages[m.stage_row], other.x, p.y)
    if a.THROW_F <= p.action <= a.THROW_D:
        other.on_ground = 0
        memory.surface = -1
        if other.action != p.action + (a.THROWN_F - a.THROW_F):
            enter(other, memory, p.action + (a.THROWN_F - a.THROW_F))
            if tables.actions[m.character_row, p.action].by_weight:
                m.rate = float(np.float32(FULL_WEIGHT / tables.characters[memory.character_row].weight))
                p.action_frame = m.rate
        return
    if other.on_ground and not stands(other, memory, tables.stages[m.stage_row]):
        other.on_ground = 0
        memory.surface = -1
        other.action -= HIGH
    high = HIGH if other.action < a.CAPTURE_PULLED else 0
    pulled = other.action + high == a.CAPTURE_PULLED
    hurt = other.action + high == a.CAPTURE_DAMAGE
    if (pulled and a.CATCH_WAIT <= p.action <= a.CATCH_ATTACK) or (hurt and other.action_frame > HURT_FRAMES):
        enter(other, memory, a.CAPTURE_WAIT - high)


@rule
def stands(p, m, s):
    """Whether the surface of a player still reaches under it."""
    return surface_left(m, s, m.surface) <= p.x <= surface_right(m, s, m.surface)


@rule
def pummelled(other, memory):
    """A held player takes a pummel."""
    high = HIGH if other.action < a.CAPTURE_PULLED else 0
    enter(other, memory, a.CAPTURE_DAMAGE - high)
    memory.held_for -= 1.0


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
