"""The effects of a hit: launch, hitstun, tumbling, lying down, getting up and techs."""

from __future__ import annotations

import math

from envs.compile import rule
from envs.melee import actions as a
from envs.melee.controller import BUTTON_A, BUTTON_B
from envs.melee.physics.change import enter, finished, leave_ground, rest, touch_ground
from envs.melee.physics.inputs import SMASH_AGE, TILT, dash_direction, jump_pressed, shield_held
from envs.melee.physics.knockback import DECAY, HITSTUN, LAUNCH_SPEED, decay, hitstun, influence
from envs.melee.physics.memory import NEVER
from envs.melee.physics.motion import toward
from envs.melee.physics.stage import fly, surface_height, surface_left, surface_right

TECH_WINDOW = 20
TECH_ROLL_STICK = 0.5
MAX_PERCENT = 999.0
LIGHT_FRAMES, MIDDLE_FRAMES, STRONG_FRAMES = 11.0, 23.0, 29.0  # of the animations of being hurt
TOP_FRAMES, ROLL_FRAMES = 59.0, 15.0  # of flying upwards and of rolling over; other flights last like a strong hit
TOP_FACE_UP = 44.0  # frames of flying upwards, and
FACE_UP = 22.0  # of the other flights, after which a player falls on the belly
BOUNCE = 0.8  # share of the speed of a launch into the floor that is kept, turned upwards
LONGEST_LIE = 200.0  # frames on the ground before getting up by itself
GETUP_STICK = 0.5
STEEP = 70.0  # degrees over the horizon from which a launch goes straight up
MIDDLE_STUN, STRONG_STUN, FLY_STUN = 10.0, 21.0, 32.0  # frames of hitstun from which the stronger animations play
LOW_PART, MIDDLE_PART, HIGH_PART = 0, 1, 2  # of the body
CANCEL = 0.95  # of the speed of a launch, if a trigger was pressed
CANCEL_WINDOW = 2
MERGE_FRAMES = 10  # after a hit, without hitlag, from which on another one does not replace its speed
BACK_BOUNCE, BELLY_BOUNCE, BOUNCE_END = 3.0, 2.0, 22.0  # frames of falling down; measured from replays
SHIFT_STICK = 0.7  # how far the stick must be out
SDI = 6.0  # units
ASDI = 3.0
RECOIL_FRICTION = 1.1  # of an attacker whom a shield pushed back, as a share of traction; measured from replays


@rule
def launch(p, m, value, angle, side, part):
    """Take a hit of knockback ``value``, ``angle`` degrees over the horizon to ``side``, on a ``part`` of the body.

    The player moves when hitlag is over. A hit that does not lift a player from the ground slides it; a strong one
    into the ground bounces. Source: doldecomp/melee, ftCo_Damage.c.
    """
    speed = launch_speed(value) * (CANCEL if _cancels(p, m) else 1.0)
    speed_x = side * speed * math.cos(math.radians(angle))
    speed_y = speed * math.sin(math.radians(angle))
    flies = HITSTUN * value >= FLY_STUN
    action = _damage_action(p, value, angle, part)
    if p.on_ground:
        if speed_y < 0.0:
            speed_y = -speed_y * BOUNCE if flies else 0.0
        if speed_y > 0.0 or flies:
            leave_ground(p, m)
    if m.since_launch >= MERGE_FRAMES:
        speed_x = _merged(p.speed_attack_x, speed_x)
        speed_y = _merged(p.speed_attack_y, speed_y)
    p.speed_attack_x = speed_x
    p.speed_attack_y = speed_y
    p.speed_air_x = 0.0
    p.speed_ground_x = 0.0
    p.speed_y = 0.0
    p.hitstun = max(float(hitstun(value)), 1.0)
    p.jumps_left = min(p.jumps_left, m.air_jumps)
    start_hurt(m)
    m.knockback = value
    m.launch = 1
    m.ledge = 0
    m.recoil = 0.0
    m.fast_fall = 0
    enter(p, m, action)


@rule
def start_hurt(m):
    """What a hit resets: the time since it, and the ages of the stick, so that a stick already out shifts nobody."""
    m.since_launch = 0
    m.x_age = NEVER
    m.y_age = NEVER


@rule
def _cancels(p, m):
    """A trigger pressed just before a hit in the air softens it, in a jump, a fall or an air dodge."""
    free = a.JUMP_F <= p.action <= a.DAMAGE_FALL or p.action == a.AIR_DODGE
    return free and not p.on_ground and m.tech_age <= CANCEL_WINDOW


@rule
def _merged(before, new):
    """Speed after a hit on a player whom an earlier one still moves: opposite speeds add up, else the larger counts."""
    if before * new < 0.0:
        return before + new
    return new if abs(new) > abs(before) else before


@rule
def _damage_action(p, value, angle, part):
    stun = HITSTUN * value
    if stun >= FLY_STUN:
        return a.DAMAGE_FLY_TOP if STEEP <= angle <= 180.0 - STEEP else a.DAMAGE_FLY_HIGH + HIGH_PART - part
    level = 0 if stun < MIDDLE_STUN else 1 if stun < STRONG_STUN else 2
    if p.on_ground:
        return a.DAMAGE_HIGH_1 + 3 * (HIGH_PART - part) + level
    return a.DAMAGE_AIR_1 + level


@rule
def start_launch(p, m, s):
    """Launch after hitlag; the stick turns the launch (DI) and shifts the player (ASDI, c-stick first)."""
    m.launch = 0
    p.speed_attack_x, p.speed_attack_y = influence(p.speed_attack_x, p.speed_attack_y, m.stick_x, m.stick_y)
    x, y = (m.c_x, m.c_y) if is_out(m.c_x, m.c_y) else (m.stick_x, m.stick_y)
    if not is_out(x, y):
        return
    if p.on_ground:
        shift(p, m, s, ASDI * x, 0.0)
    else:  # together with the first step of the launch, so that a shift down may hold it on the floor
        m.shift_x = ASDI * x
        m.shift_y = ASDI * y


@rule
def start_throw(p, m):
    """Launch from a throw: no hitlag, and the stick of the previous frame turns the launch."""
    m.launch = 0
    p.hitstun = max(p.hitstun - 1.0, 0.0)
    p.speed_attack_x, p.speed_attack_y = influence(
        p.speed_attack_x, p.speed_attack_y, m.stick_x_before, m.stick_y_before
    )


@rule
def smash_influence(p, m, s):
    """A flick of the stick in hitlag shifts the player (SDI), once for each flick."""
    if spend_flick(m):
        shift(p, m, s, SDI * m.stick_x, SDI * m.stick_y)


@rule
def spend_flick(m):
    """Whether the stick was flicked far enough out to shift a player; the flick is then spent."""
    if not is_out(m.stick_x, m.stick_y) or (m.x_age >= SMASH_AGE and m.y_age >= SMASH_AGE):
        return False
    m.x_age = NEVER
    m.y_age = NEVER
    return True


@rule
def is_out(x, y):
    """Whether the stick is far enough out to shift a player."""
    return x * x + y * y >= SHIFT_STICK * SHIFT_STICK


@rule
def shift(p, m, s, x, y):
    """Move by (x, y) at once; along the surface if the player stands on one."""
    if p.on_ground:
        p.x = min(max(p.x + x, surface_left(m, s, m.surface)), surface_right(m, s, m.surface))
        p.y = surface_height(m, s, m.surface, p.x)
    else:
        fly(p, m, s, x, y, m.hull)


@rule
def slow_launch(p, c):
    """The launch loses speed: by itself in the air, by friction on the ground."""
    if p.on_ground and is_bouncing(p.action, p.action_frame):
        p.speed_ground_x = 0.0
        p.speed_attack_x = toward(p.speed_attack_x, 0.0, DECAY)
    elif p.on_ground:
        p.speed_attack_x = toward(p.speed_attack_x, 0.0, c.traction)
        p.speed_attack_y = 0.0
    else:
        p.speed_attack_x, p.speed_attack_y = decay(p.speed_attack_x, p.speed_attack_y)


@rule
def hurt(p):
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
def is_hurt(action):
    """Being hurt, on the ground, in the air or flying."""
    return a.DAMAGE_HIGH_1 <= action <= a.DAMAGE_FLY_ROLL


@rule
def is_flying(p):
    """Whether the launch was hard enough to tumble."""
    return a.DAMAGE_FLY_HIGH <= p.action <= a.DAMAGE_FLY_ROLL


@rule
def wiggled(m):
    """A flick to a side ends a tumble."""
    return dash_direction(m) != 0.0


@rule
def meet_floor(p, m, s, surface):
    """A tumbling player reaches the floor: tech, or lie down."""
    if m.tech_age > TECH_WINDOW:
        lie_down(p, m, s, surface)
        return
    _touch_floor(p, m, s, surface)
    if abs(m.stick_x) >= TECH_ROLL_STICK:
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
    """Lying on the ground after a missed tech."""
    side = a.DOWN_BOUND_UP - a.DOWN_BOUND if p.action <= a.DOWN_DAMAGE_UP else 0  # on the back, or on the belly
    if p.action != a.DOWN_WAIT + side:
        if finished(p, m, tables):
            enter(p, m, a.DOWN_WAIT + side)
            _get_up(p, m, side)
        return
    if not _get_up(p, m, side) and p.action_frame > LONGEST_LIE:
        enter(p, m, a.DOWN_STAND + side)


@rule
def _get_up(p, m, side):
    if m.pressed & (BUTTON_A | BUTTON_B):
        enter(p, m, a.DOWN_ATTACK + side)
        return True
    if abs(m.stick_x) >= GETUP_STICK:
        enter(p, m, side + (a.DOWN_ROLL_F if m.stick_x * p.facing > 0.0 else a.DOWN_ROLL_B))
        return True
    if m.stick_y >= TILT or jump_pressed(m) or shield_held(m):
        enter(p, m, a.DOWN_STAND + side)
        return True
    return False


@rule
def get_up(p, m, tables):
    """Techs and the ways of getting up."""
    if finished(p, m, tables):
        p.speed_ground_x = 0.0
        rest(p, m)


@rule
def launch_speed(value):
    """Launch speed of a knockback, units a frame."""
    return value * LAUNCH_SPEED
