"""Jigglypuff's neutral special: charge, roll, turn, fall off edges, and rebound from a hit.

The animation stands still in every part but the first and the last. The frame that a roll shows stands for the damage
of its speed, so that the table has a hit for each.

Rules: doldecomp/melee, ftPr_SpecialN.c. Figures: charge, speeds, turn and rebound as schmooblidon/meleelight has them,
split into the game's attributes; longest charge and length of the roll from published tests of the game's files.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee.controller import BUTTON_B
from selfplay_melee.physics.actions.special_motion import continue_as
from selfplay_melee.physics.change import leave_ground
from selfplay_melee.physics.motion import drift, sign

START, CHARGE, FULL, ROLL, TURN, END, REBOUND = 346, 348, 349, 350, 351, 352, 362
AIR = 8  # from an action on the ground to the same in the air
FIRST_CHARGE, MOST_CHARGE, NO_CHARGE = 50.0, 180.0, 40.0
CHARGE_STEP = 3.0  # a frame
SPEED = 0.03  # units a frame for each unit of charge over NO_CHARGE
AIR_LOSS, AIR_LEAST = 0.1, 0.5  # units a frame
ROLL_FRAMES = 90  # after which the roll ends as the face is down
SPIN = 0.2  # degrees a frame for each unit of charge; this, AIR_SPIN and TURN_SPIN from the spins that meleelight shows
AIR_SPIN = 1.3
TURN_SPIN = 36.0  # degrees a frame
TURN_STICK = 0.49
TURN_LOSS = 0.045  # share of its speed that a turn takes, a frame
TURNED = 0.25  # of that speed, the other way, which ends the turn
HIT_SPEED = 2.0  # below which a roll does not hurt
BASE_DAMAGE, SPEED_DAMAGE = 2.0, 3.0  # damage: SPEED_DAMAGE * (BASE_DAMAGE + speed), rounded down
FIRST_DAMAGE = 11.0  # less than the damage of the roll's frame 1
BOUNCE = 0.75  # share of the charge that a wall leaves
STOPPED = 0.5  # share of its way below which a roll has met a wall; the mock's own
FALL_SPEED = 1.3


@rule
def play(p, m, c, tables):
    """One frame: charge, roll on, turn, end or rebound."""
    if p.action == REBOUND:
        if p.speed_y <= -FALL_SPEED:
            drift(p, m, c)
        return
    air = AIR if p.action >= START + AIR else 0
    part = p.action - air
    if part == START:
        m.move_value = FIRST_CHARGE
        m.move_count = ROLL_FRAMES
    elif CHARGE <= part <= FULL:
        _charge(p, m, tables, air, part)
    elif m.jab_again:  # the roll has hit
        leave_ground(p, m)
        continue_as(p, m, tables, REBOUND)
    elif part == ROLL and m.age > 0:
        _roll(p, m, tables, air)
    elif part == TURN and m.age > 0:
        m.path_lean = _turned(m, TURN_SPIN)
        m.move_count -= 1
        if m.move_count <= 0:
            p.facing = -p.facing
            continue_as(p, m, tables, END + air)


@rule
def _charge(p, m, tables, air, part):
    if m.age > 0:
        m.move_value = min(m.move_value + CHARGE_STEP, MOST_CHARGE)
        m.path_lean = _turned(m, SPIN * m.move_value)
    if part == CHARGE and m.move_value == MOST_CHARGE:
        continue_as(p, m, tables, FULL + air)
    if m.held & BUTTON_B == 0:
        continue_as(p, m, tables, ROLL + air)
        _show(p, _speed(m, air))


@rule
def _roll(p, m, tables, air):
    if air > 0 and (p.x - m.aim_x) * p.facing < STOPPED * abs(p.speed_air_x):
        p.facing = -p.facing
        m.move_value *= BOUNCE
        m.path_lean = 360.0 - m.path_lean
    _show(p, abs(p.speed_air_x if air > 0 else p.speed_ground_x))
    spin = SPIN * m.move_value * (AIR_SPIN if air > 0 else 1.0)
    face_down = m.path_lean < 180.0 <= m.path_lean + spin
    m.path_lean = _turned(m, spin)
    m.move_count -= 1
    if (m.move_count <= 0 and face_down) or m.move_value < NO_CHARGE:
        continue_as(p, m, tables, END + air)
    elif air == 0 and m.stick_x * p.facing < -TURN_STICK:
        m.aim_x = p.speed_ground_x
        m.path_lean = 360.0 - m.path_lean
        continue_as(p, m, tables, TURN)


@rule
def _turned(m, spin):
    """The lean after a spin of less than 360 degrees. No ``%``: a browser has no remainder of floats."""
    lean = m.path_lean + spin
    return lean - 360.0 if lean >= 360.0 else lean


@rule
def _speed(m, air):
    speed = SPEED * (m.move_value - NO_CHARGE)
    return max(speed - AIR_LOSS, AIR_LEAST) if air > 0 else speed


@rule
def _show(p, speed):
    """Show the frame whose hits have the damage of this speed; frame 0 has none."""
    damage = float(int(SPEED_DAMAGE * (BASE_DAMAGE + speed)))
    p.action_frame = damage - FIRST_DAMAGE if speed >= HIT_SPEED else 0.0


@rule
def set_speed(p, m, tables):
    """Speed of a roll and of a turn. ``aim_x`` is the place before a step of a roll, and the speed before a turn."""
    if p.action == ROLL:
        p.speed_ground_x = p.facing * _speed(m, 0)
        m.aim_x = p.x
    elif p.action == ROLL + AIR:
        p.speed_air_x = p.facing * _speed(m, AIR)
        m.aim_x = p.x
    elif p.action == TURN:
        p.speed_ground_x -= TURN_LOSS * m.aim_x
        if p.speed_ground_x * m.aim_x < 0.0 and abs(p.speed_ground_x) >= TURNED * abs(m.aim_x):
            p.facing = -p.facing
            continue_as(p, m, tables, ROLL)
            p.action_frame = 0.0
            m.aim_x = p.x
    elif p.action == TURN + AIR:
        side = sign(p.speed_air_x) if p.speed_air_x != 0.0 else p.facing
        p.speed_air_x = side * max(abs(p.speed_air_x) - AIR_LOSS, AIR_LEAST)


@rule
def hit(p, m):
    """Rebound as hitlag is over, unless a hit has ended the roll."""
    if p.action == ROLL or p.action == ROLL + AIR:
        m.jab_again = 1
