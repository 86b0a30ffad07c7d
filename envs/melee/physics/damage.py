"""What a hit does to a player: percent, launch, hitstun, tumbling, lying down, getting up and techs."""

from __future__ import annotations

from envs.melee import actions as a
from envs.melee.controller import BUTTON_A, BUTTON_B
from envs.melee.physics.change import enter, finished, leave_ground, rest, touch_ground
from envs.melee.physics.compile import rule
from envs.melee.physics.inputs import TILT, dash_direction, jump_pressed, shield_held
from envs.melee.physics.knockback import LAUNCH_SPEED, TUMBLE, decay, hitstun, influence
from envs.melee.physics.motion import toward

TECH_WINDOW = 20
TECH_ROLL_STICK = 0.5
MAX_PERCENT = 999.0
BOUNCE = 0.8  # share of the speed of a launch into the floor that is kept, turned upwards
LONGEST_LIE = 200.0  # frames on the ground before getting up by itself
GETUP_STICK = 0.5


@rule
def launch(p, m, value, speed_x, speed_y):
    """Take a hit of knockback ``value``; the launch waits for the end of hitlag."""
    m.knockback = value
    m.pending_x = speed_x
    m.pending_y = speed_y
    m.launch = 1
    m.ledge = 0
    p.hitstun = float(hitstun(value))
    p.speed_attack_x = 0.0
    p.speed_attack_y = 0.0
    p.speed_air_x = 0.0
    p.speed_ground_x = 0.0
    p.speed_y = 0.0
    m.fast_fall = 0
    enter(p, m, _damage_action(p, value, speed_x, speed_y))


@rule
def _damage_action(p, value, speed_x, speed_y):
    if value >= TUMBLE:
        if speed_y > 2.0 * abs(speed_x):
            return a.DAMAGE_FLY_TOP
        return a.DAMAGE_FLY_MID if speed_y >= 0.0 else a.DAMAGE_FLY_LOW
    level = min(int(value / (TUMBLE / 3.0)), 2)
    if p.on_ground:
        return a.DAMAGE_MID_1 + level
    return a.DAMAGE_AIR_1 + level


@rule
def start_launch(p, m):
    """Hitlag is over: influence the launch and fly, or slide along the ground."""
    m.launch = 0
    x, y = m.pending_x, m.pending_y
    if p.on_ground and y < 0.0:
        y = 0.0 if m.knockback < TUMBLE else -y * BOUNCE
    x, y = influence(x, y, m.stick_x, m.stick_y)
    if p.on_ground:
        if y <= 0.0:
            p.speed_attack_x = x
            p.speed_attack_y = 0.0
            return
        leave_ground(p, m)
    p.jumps_left = min(p.jumps_left, 1)
    p.speed_attack_x = x
    p.speed_attack_y = y


@rule
def slow_launch(p, c):
    """The launch loses speed: by itself in the air, by friction on the ground."""
    if p.on_ground:
        p.speed_attack_x = toward(p.speed_attack_x, 0.0, c.traction)
        p.speed_attack_y = 0.0
    else:
        p.speed_attack_x, p.speed_attack_y = decay(p.speed_attack_x, p.speed_attack_y)


@rule
def hurt(p, m):
    """In hitstun; what follows is standing, falling or tumbling."""
    p.hitstun = max(p.hitstun - 1.0, 0.0)
    if p.hitstun > 0.0:
        return
    if not p.on_ground and is_flying(p):
        enter(p, m, a.DAMAGE_FALL)
    else:
        rest(p, m)


@rule
def is_flying(p):
    """Launched hard enough to tumble."""
    return a.DAMAGE_FLY_HIGH <= p.action <= a.DAMAGE_FLY_ROLL


@rule
def wiggled(m):
    """A flick to a side ends a tumble."""
    return dash_direction(m) != 0.0


@rule
def meet_floor(p, m, s, surface):
    """A tumbling player reaches the floor: tech, or lie down."""
    touch_ground(p, m, s, surface)
    p.speed_ground_x = 0.0
    p.speed_attack_x = 0.0
    p.speed_attack_y = 0.0
    p.hitstun = 0.0
    if m.tech_age <= TECH_WINDOW:
        if abs(m.stick_x) >= TECH_ROLL_STICK:
            enter(p, m, a.TECH_F if m.stick_x * p.facing > 0.0 else a.TECH_B)
        else:
            enter(p, m, a.TECH)
    else:
        enter(p, m, a.DOWN_BOUND)


@rule
def down(p, m, tables):
    """Lying on the ground after a missed tech."""
    if p.action != a.DOWN_WAIT:
        if finished(p, m, tables):
            enter(p, m, a.DOWN_WAIT)
            _get_up(p, m)
        return
    if not _get_up(p, m) and p.action_frame > LONGEST_LIE:
        enter(p, m, a.DOWN_STAND)


@rule
def _get_up(p, m):
    if m.pressed & (BUTTON_A | BUTTON_B):
        enter(p, m, a.DOWN_ATTACK)
        return True
    if abs(m.stick_x) >= GETUP_STICK:
        enter(p, m, a.DOWN_ROLL_F if m.stick_x * p.facing > 0.0 else a.DOWN_ROLL_B)
        return True
    if m.stick_y >= TILT or jump_pressed(m) or shield_held(m):
        enter(p, m, a.DOWN_STAND)
        return True
    return False


@rule
def get_up(p, m, tables):
    """Techs and the ways of getting up."""
    if finished(p, m, tables):
        rest(p, m)


@rule
def launch_speed(value):
    """Units a frame."""
    return value * LAUNCH_SPEED
