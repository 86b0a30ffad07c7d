"""Standing, walking, dashing, running, turning, crouching and jump squats."""

from __future__ import annotations

from envs.compile import rule
from envs.melee import actions as a
from envs.melee.controller import BUTTON_A, BUTTON_B, BUTTON_D_UP, BUTTON_Z
from envs.melee.physics.attack import ground_attack, up_smash_asked
from envs.melee.physics.change import enter, leave_ground
from envs.melee.physics.inputs import (
    CROUCH_STICK,
    DASH_AGE,
    DASH_STICK,
    STAY_DOWN_STICK,
    TRIGGERS,
    dash_direction,
    flicked_down,
    jump_held,
    jump_pressed,
    shield_held,
)
from envs.melee.physics.memory import NEVER
from envs.melee.physics.motion import sign, toward
from envs.melee.physics.special import start_special, up_special_asked
from envs.melee.physics.stage import on_platform

DASH_STOP = 0.25  # share of the speed of a dash that a turn or a shield leaves
FAST_WALK = 0.8  # of top walking speed
MIDDLE_WALK = 0.4
DASH_TURN_FLIP = 2.0  # frame on which a turn by a flick changes the facing
WALK_GAIN = 0.5  # of the first step's strength, for those that follow
DROP_FRAMES = 3.0  # of crouching before a platform lets go
DROP_SPEED = -0.5


@rule
def ground_options(p, m, c):
    """Start any action that is possible on the ground; whether one started."""
    return action_options(p, m, c) or _move_options(p, m, c)


@rule
def action_options(p, m, c):
    """Start any action but walking, dashing, turning and crouching; whether one started."""
    if start_special(p, m, c):
        return True
    if grab_asked(m):
        enter(p, m, a.CATCH)
        return True
    if ground_attack(p, m):
        return True
    if shield_held(m):
        start_guard(p, m)
        return True
    if m.pressed & BUTTON_D_UP:
        enter(p, m, a.TAUNT_RIGHT if p.facing > 0.0 else a.TAUNT_LEFT)
        return True
    if jump_pressed(m):
        start_jump_squat(p, m, c)
        return True
    return False


@rule
def grab_asked(m):
    """Z, or A while shielding."""
    return m.pressed & BUTTON_Z != 0 or (m.pressed & BUTTON_A != 0 and shield_held(m))


@rule
def _move_options(p, m, c):
    direction = dash_direction(m)
    if direction == p.facing:
        enter(p, m, a.DASH)
        return True
    rising = p.action == a.SQUAT_RISE  # which leaves no turn
    if direction != 0.0 and not rising:
        start_turn(p, m, True)
        return True
    if p.action == a.SQUAT or p.action == a.SQUAT_WAIT:
        if m.stick_y <= STAY_DOWN_STICK:
            return False
    elif m.stick_y <= CROUCH_STICK and p.action != a.LANDING and not rising:
        if p.action == a.DTILT:
            return False
        enter(p, m, a.SQUAT)
        return True
    if m.stick_x * p.facing < 0.0 and not rising:
        start_turn(p, m, False)
        return True
    if m.stick_x * p.facing > 0.0 and not a.WALK_SLOW <= p.action <= a.WALK_FAST:
        enter(p, m, _walk_action(p, c))
        return True
    return False


@rule
def start_guard(p, m):
    """Raise the shield; a new press of the button starts with a power shield."""
    if p.action == a.DASH:
        p.speed_ground_x *= DASH_STOP
    enter(p, m, a.GUARD_REFLECT if m.pressed & TRIGGERS else a.GUARD_ON)
    m.tilt_x = 0.0
    m.tilt_y = 0.0


@rule
def start_jump_squat(p, m, c):
    """Bend the knees; the jump follows."""
    if p.action == a.DASH:
        p.speed_ground_x = min(max(p.speed_ground_x, -c.run_max), c.run_max)
    enter(p, m, a.JUMP_SQUAT)
    m.short_hop = 0


@rule
def start_turn(p, m, into_dash):
    """Turn around; a flick turns quickly and goes on as a dash."""
    if p.action == a.DASH:
        p.speed_ground_x *= DASH_STOP
    enter(p, m, a.TURN)
    m.dash_turn = 1 if into_dash else 0


@rule
def wait(p, m, c):
    """Standing."""
    ground_options(p, m, c)


@rule
def walk(p, m, c):
    """Walking, in one of three speeds."""
    if ground_options(p, m, c):
        return
    if m.stick_x * p.facing <= 0.0:
        enter(p, m, a.WAIT)
        return
    action = _walk_action(p, c)
    if action != p.action:
        frame = p.action_frame
        enter(p, m, action)
        p.action_frame = frame


@rule
def _walk_action(p, c):
    """Slow, middle or fast, by the speed so far."""
    speed = abs(p.speed_ground_x)
    if speed >= FAST_WALK * c.walk_max:
        return a.WALK_FAST
    return a.WALK_MIDDLE if speed >= MIDDLE_WALK * c.walk_max else a.WALK_SLOW


@rule
def turn(p, m, c):
    """Turning on the spot, or the one frame before a dash the other way."""
    flick = -m.stick_x * p.facing >= DASH_STICK
    flip = DASH_TURN_FLIP if m.dash_turn else c.turn_flip
    if p.action_frame == flip:
        p.facing = -p.facing
    flick = flick and (m.dash_turn != 0 or m.x_age < DASH_AGE)
    if p.action_frame == DASH_TURN_FLIP and flick:
        p.facing = sign(m.stick_x)
        if not action_options(p, m, c):
            enter(p, m, a.DASH)
        return
    if p.action_frame < flip:  # attacks and grabs go the new way already
        p.facing = -p.facing
        acts = action_options(p, m, c)
        if not acts or p.action == a.JUMP_SQUAT or a.GUARD_ON <= p.action <= a.GUARD_REFLECT:
            p.facing = -p.facing
        if acts:
            return
    elif action_options(p, m, c):
        return
    if p.action_frame > c.turn_frames:
        enter(p, m, a.WAIT)
        ground_options(p, m, c)


@rule
def squat(p, m, c):
    """Crouching down, staying there and rising; a flick drops through a platform."""
    if p.action == a.SQUAT and on_platform(m) and p.action_frame > DROP_FRAMES and m.stick_y <= CROUCH_STICK:
        drop_through(p, m)
        return
    if action_options(p, m, c) or (p.action != a.SQUAT and _move_options(p, m, c)):
        return
    if m.stick_y > STAY_DOWN_STICK and p.action == a.SQUAT_WAIT:
        enter(p, m, a.SQUAT_RISE)
    elif p.action == a.SQUAT and p.action_frame > c.squat_frames:
        enter(p, m, a.SQUAT_WAIT if m.stick_y <= STAY_DOWN_STICK else a.SQUAT_RISE)
    elif p.action == a.SQUAT_RISE and p.action_frame >= c.squat_rise_frames:
        enter(p, m, a.WAIT)


@rule
def drop_through(p, m):
    """Fall through the platform stood on."""
    surface = m.surface
    leave_ground(p, m)
    enter(p, m, a.PLATFORM_DROP)
    p.speed_y = DROP_SPEED
    m.y_age = NEVER  # the same flick does not make the fall fast
    m.drop_from = surface


@rule
def jump_squat(p, m, c):
    """The frames before leaving the ground; letting go of jump makes it a short hop."""
    if p.action_frame >= c.jump_squat:
        _jump(p, m, c)
        return
    if not jump_held(m):
        m.short_hop = 1
    if up_smash_asked(m):
        enter(p, m, a.USMASH)
    elif up_special_asked(m) and start_special(p, m, c):
        return
    elif m.pressed & BUTTON_Z:
        enter(p, m, a.CATCH)


@rule
def _jump(p, m, c):
    speed = p.speed_ground_x * c.ground_to_air + m.stick_x_before * c.jump_start_x
    leave_ground(p, m)
    p.jumps_left = m.air_jumps
    if m.stick_jump:
        m.y_age = NEVER  # the same flick does not jump again
    p.speed_air_x = min(max(speed, -c.jump_max_x), c.jump_max_x)
    p.speed_y = c.short_hop if m.short_hop else c.full_hop
    enter(p, m, a.JUMP_B if m.stick_x_before * p.facing < 0.0 else a.JUMP_F)


@rule
def landing(p, m, c):
    """The landing animation; the player can act after its lag."""
    if p.action_frame < c.landing_lag or ground_options(p, m, c):
        return
    if p.action_frame == c.landing_lag and m.stick_y <= CROUCH_STICK:  # only as the lag ends
        enter(p, m, a.SQUAT_WAIT)
    elif p.action_frame >= m.duration:
        enter(p, m, a.WAIT)


@rule
def lag(p, m, c):
    """Landing lag of an aerial attack or of a special fall; ``m.duration`` frames."""
    if p.action_frame >= m.duration:
        enter(p, m, a.WAIT)
        ground_options(p, m, c)


@rule
def walk_speed(p, m, c):
    """Accelerate towards the speed that the stick asks for, faster the larger the difference."""
    target = c.walk_max * m.stick_x
    speed = p.speed_ground_x
    strength = c.walk_start * sign(m.stick_x) + c.walk_acceleration * m.stick_x
    if speed * target <= 0.0:
        p.speed_ground_x = toward(speed, target, abs(strength))
    elif abs(speed) > abs(target):
        p.speed_ground_x = toward(speed, target, c.traction)
    else:
        p.speed_ground_x += WALK_GAIN * strength * (1.0 - speed / target)


@rule
def platform_drop_asked(m):
    """A flick down on a platform, which also leaves a shield."""
    return on_platform(m) and flicked_down(m) and m.pressed & BUTTON_B == 0
