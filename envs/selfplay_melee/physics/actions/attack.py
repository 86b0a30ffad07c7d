"""Starting and continuing attacks."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_A
from selfplay_melee.physics.change import enter, finished, rest, turn_around
from selfplay_melee.physics.inputs import C_SMASH, DASH_AGE, DASH_STICK, JUMP_STICK, SMASH_AGE, TILT
from selfplay_melee.physics.motion import sign

MAX_CHARGE = 60.0  # frames that a smash attack can be charged
CHARGE_DAMAGE = 0.3671  # damage that a full charge adds, as a share
NO_ACTION = -1
STEEP = 1.19175  # tangent of 50 degrees: from there on the stick counts as up or down
SLIGHT_ANGLE = 0.17633  # tangent of 10 degrees: from there on a forward tilt or smash is aimed a little
FULL_ANGLE = 0.30573  # of 17 degrees: all the way


@rule
def ground_attack(p, m):
    """Start the ground attack that the inputs ask for; False if there is none. In the order of the game."""
    if m.pressed & BUTTON_A == 0 and m.c_x == 0.0 and m.c_y == 0.0:
        return False
    if _forward_smash(p, m):
        return True
    pressed = m.pressed & BUTTON_A != 0
    fresh = pressed and m.y_age < SMASH_AGE
    if (fresh and m.stick_y >= JUMP_STICK) or _c_stick_up(m):
        enter(p, m, a.USMASH)
    elif (fresh and m.stick_y <= -JUMP_STICK) or m.c_y <= -JUMP_STICK < m.c_y_before:
        enter(p, m, a.DSMASH)
    elif pressed:
        enter(p, m, _tilt(p, m))
    else:
        return False
    return True


@rule
def _forward_smash(p, m):
    if m.pressed & BUTTON_A and abs(m.stick_x) >= DASH_STICK and m.x_age < DASH_AGE:
        p.facing = sign(m.stick_x)
        enter(p, m, a.FSMASH)
        return True
    return _c_stick_smash(p, m)


@rule
def _c_stick_smash(p, m):
    if abs(m.c_x_before) < C_SMASH <= abs(m.c_x):
        p.facing = sign(m.c_x)
        enter(p, m, a.FSMASH)
        return True
    return False


@rule
def dash_smash(p, m):
    """A forward smash in the first frames of a dash: A with the stick ahead, or the c-stick."""
    if m.pressed & BUTTON_A and m.stick_x * p.facing >= DASH_STICK:
        enter(p, m, a.FSMASH)
        return True
    return _c_stick_smash(p, m)


@rule
def _c_stick_up(m):
    return m.c_y_before < JUMP_STICK <= m.c_y


@rule
def _tilt(p, m):
    steep = abs(m.stick_y) > STEEP * abs(m.stick_x)
    if m.stick_x * p.facing >= TILT and not steep:
        return a.FTILT
    if abs(m.stick_y) >= TILT and steep:
        return a.UTILT if m.stick_y > 0.0 else a.DTILT
    return a.JAB_1


@rule
def aim(p, m, tables):
    """Aim a forward tilt or smash that starts up or down, if the character has such an attack."""
    by_c = p.action == a.FSMASH and abs(m.c_x_before) < C_SMASH <= abs(m.c_x)
    x, y = (m.c_x, m.c_y) if by_c else (m.stick_x, m.stick_y)
    side = -1 if y > 0.0 else 1  # actions go from high to low
    for steps, angle in ((2, FULL_ANGLE), (1, SLIGHT_ANGLE)):
        aimed = p.action + side * steps
        if abs(y) > angle * abs(x) and tables.actions[m.character_row, aimed].frames > 0:
            p.action = aimed
            return


@rule
def up_smash_asked(m):
    """An up smash in a jump squat: the stick need not be flicked."""
    return (m.pressed & BUTTON_A != 0 and m.stick_y >= JUMP_STICK) or _c_stick_up(m)


@rule
def air_attack(p, m):
    """Start the aerial attack that the inputs ask for; False if there is none."""
    if m.c_pressed:
        x, y = m.c_x, m.c_y
    elif m.pressed & BUTTON_A:
        x, y = m.stick_x, m.stick_y
    else:
        return False
    enter(p, m, _aerial(x * p.facing, y))
    return True


@rule
def _aerial(forward, up):
    if abs(forward) < TILT and abs(up) < TILT:
        return a.NAIR
    if abs(up) > STEEP * abs(forward):
        return a.UAIR if up > 0.0 else a.DAIR
    return a.FAIR if forward > 0.0 else a.BAIR


@rule
def keep_attacking(p, m, tables):
    """One frame of an attack; True while it goes on."""
    turn_around(p, m, tables)
    entry = tables.actions[m.character_row, p.action]
    if entry.charge > 0 and p.action_frame == entry.charge + 1.0 and m.charge < MAX_CHARGE and m.held & BUTTON_A:
        m.charge += 1.0  # the animation waits on its charge frame
        p.action_frame = float(entry.charge)
    if a.JAB_1 <= p.action <= a.JAB_2 and _next_jab(p, m, tables):
        return True
    if finished(p, m, tables):
        if p.action == a.DTILT and p.on_ground:
            enter(p, m, a.SQUAT_WAIT)
        else:
            rest(p, m)
        return False
    return True


@rule
def _next_jab(p, m, tables):
    if m.pressed & BUTTON_A:
        m.jab_again = 1
    following = tables.actions[m.character_row, p.action + 1]
    last_hit_over = p.action_frame > _last_hit_frame(p, m, tables) + 2.0
    if m.jab_again and last_hit_over and following.frames > 0:
        enter(p, m, p.action + 1)
        return True
    return False


@rule
def _last_hit_frame(p, m, tables):
    entry = tables.actions[m.character_row, p.action]
    if entry.num_hits == 0:
        return 0.0
    return float(tables.hits[entry.first_hit + entry.num_hits - 1].end)


@rule
def may_interrupt(p, m, tables):
    """Whether the action has reached the frame from which it can be interrupted."""
    iasa = tables.actions[m.character_row, p.action].iasa
    return iasa > 0 and p.action_frame >= iasa


@rule
def charge_factor(m):
    """Damage factor of a charged smash attack."""
    return 1.0 + CHARGE_DAMAGE * m.charge / MAX_CHARGE


@rule
def is_charging(p, m, tables):
    """Whether a smash attack is being charged."""
    return m.charge > 0.0 and p.action_frame == tables.actions[m.character_row, p.action].charge
