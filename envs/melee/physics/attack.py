"""Starting and continuing attacks."""

from __future__ import annotations

from envs.compile import rule
from envs.melee import actions as a
from envs.melee.controller import BUTTON_A, BUTTON_Z
from envs.melee.physics.change import enter, finished, rest
from envs.melee.physics.inputs import C_STICK, DASH_AGE, DASH_STICK, JUMP_STICK, SMASH_AGE, TILT
from envs.melee.physics.motion import sign

MAX_CHARGE = 60.0  # frames that a smash attack can be charged
CHARGE_DAMAGE = 0.3671  # damage that a full charge adds, as a share
JAB_AGAIN_FRAMES = 2.0  # frames of a jab before another press counts
NO_ACTION = -1
STEEP = 1.19175  # tangent of 50 degrees: from there on the stick counts as up or down
C_AGE = 4  # frames for which a c-stick that went out in the jump squat still asks for an aerial


@rule
def ground_attack(p, m):
    """Start the ground attack that the inputs ask for; False if there is none."""
    action = NO_ACTION
    if m.c_pressed:
        action = _by_c_stick(p, m, a.FSMASH, a.USMASH, a.DSMASH)
    elif m.pressed & BUTTON_A:
        action = _by_a_button(p, m)
    if action == NO_ACTION:
        return False
    enter(p, m, action)
    return True


@rule
def _by_c_stick(p, m, side, up, down):
    if abs(m.c_y) <= STEEP * abs(m.c_x):
        p.facing = sign(m.c_x)
        return side
    return up if m.c_y > 0.0 else down


@rule
def _by_a_button(p, m):
    x = abs(m.stick_x)
    ahead = m.stick_x * p.facing > 0.0 or p.action == a.TURN
    if x >= DASH_STICK and m.x_age < (SMASH_AGE if ahead else DASH_AGE):
        p.facing = sign(m.stick_x)
        return a.FSMASH
    if m.y_age < SMASH_AGE and abs(m.stick_y) >= JUMP_STICK:
        return a.USMASH if m.stick_y > 0.0 else a.DSMASH
    if x >= TILT and abs(m.stick_y) <= STEEP * x and ahead:
        p.facing = sign(m.stick_x)
        return a.FTILT
    if abs(m.stick_y) >= TILT:
        return a.UTILT if m.stick_y > 0.0 else a.DTILT
    return a.JAB_1


@rule
def up_smash_asked(m):
    """An up smash, the one attack that can interrupt a jump squat."""
    by_stick = m.pressed & BUTTON_A != 0 and m.stick_y >= JUMP_STICK and m.y_age < SMASH_AGE
    return by_stick or (m.c_pressed != 0 and m.c_y >= C_STICK)


@rule
def air_attack(p, m):
    """Start the aerial attack that the inputs ask for; False if there is none."""
    if m.c_age < C_AGE and (m.c_pressed or p.action <= a.JUMP_B):
        x, y = m.c_x, m.c_y
    elif m.pressed & (BUTTON_A | BUTTON_Z):
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
    entry = tables.actions[m.character_row, p.action]
    if entry.charge > 0 and p.action_frame == entry.charge + 1.0 and m.charge < MAX_CHARGE and m.held & BUTTON_A:
        m.charge += 1.0  # the animation waits on its charge frame
        p.action_frame = float(entry.charge)
    if a.JAB_1 <= p.action <= a.JAB_2 and _next_jab(p, m, tables):
        return True
    if finished(p, m, tables):
        rest(p, m)
        return False
    return True


@rule
def _next_jab(p, m, tables):
    if m.pressed & BUTTON_A and p.action_frame > JAB_AGAIN_FRAMES:
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
