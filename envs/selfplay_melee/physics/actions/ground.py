"""Standing, walking, turning, landing and jump squats; what may start from each, in the order of the game.

The order, and what an action does not allow, follow the decompiled game (doldecomp/melee, ftCo_*.c).
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_D_UP
from selfplay_melee.physics.actions.attack import ground_attack, up_smash_asked
from selfplay_melee.physics.actions.special import SIDE_STICK, UP_STICK, start_special, start_up_special
from selfplay_melee.physics.change import enter, leave_ground
from selfplay_melee.physics.inputs import (
    CROUCH_STICK,
    DASH_AGE,
    DASH_STICK,
    DODGE_STICK,
    SMASH_AGE,
    TRIGGERS,
    dash_direction,
    grab_pressed,
    jump_held,
    jump_pressed,
    shield_held,
)
from selfplay_melee.physics.memory import NEVER
from selfplay_melee.physics.motion import clamp, sign, toward

DASH_STOP = 0.25  # share of the speed of a dash that what ends it leaves
FAST_WALK = 0.8  # of top walking speed
MIDDLE_WALK = 0.4
DASH_TURN_FLIP = 2.0  # frame on which a turn by a flick changes the facing
SWING = 0.9375  # of the stick in two frames, in which the Universal Controller Fix sees a flick
WALK_GAIN = 0.5  # of the first step's strength, for those that follow
GUARD_LOCK_FRAMES = 8  # before the shield can be let down
REFLECT_AGE = 2  # frames within which a press reflects
DASH_LATE = 20.0  # after this frame of a dash a shield allows a dash grab
DASH_GRAB = 3  # frames for which it, or a dash attack, does


@rule
def ground_options(p, m, c):
    """Start any action that is possible while standing; whether one started."""
    return action_options(p, m, c) or move_options(p, m, c)


@rule
def action_options(p, m, c):
    """Start any action but walking, dashing, turning and crouching; whether one started."""
    if start_special(p, m, c):
        return True
    if grab_pressed(m):
        enter(p, m, a.CATCH)
        return True
    return ground_attack(p, m) or guard_options(p, m, c)


@rule
def guard_options(p, m, c):
    """Shield, taunt or jump; whether one started."""
    if p.action == a.WAIT and shield_held(m) and m.stick_y <= -DODGE_STICK and m.y_age < SMASH_AGE:
        enter(p, m, a.SPOT_DODGE)
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
def attack_options(p, m, c):
    """Start what interrupts a jab or a down tilt: no special move, grab or shield; whether one started."""
    if (p.action == a.DTILT or abs(m.stick_x) > 0.0 or abs(m.stick_y) > 0.0 or m.c_pressed) and ground_attack(p, m):
        return True
    if jump_pressed(m):
        start_jump_squat(p, m, c)
        return True
    return move_options(p, m, c)


@rule
def move_options(p, m, c):
    """Dash, crouch, turn or walk; whether one started."""
    if flick_options(p, m):
        return True
    if m.stick_y <= CROUCH_STICK:
        if p.action == a.LANDING:
            if p.action_frame < c.landing_lag + 1.0:  # only as the lag ends
                enter(p, m, a.SQUAT_WAIT)
                return True
        else:
            if p.action != a.DTILT:
                start_squat(p, m)
            return True
    if m.stick_x * p.facing < 0.0:
        start_turn(p, m, False)
        return True
    return walk_option(p, m, c)


@rule
def flick_options(p, m):
    """Dash, or turn around for a dash, by a flick to a side; whether one started."""
    direction = dash_direction(m)
    if direction == 0.0:
        return False
    if direction == p.facing:
        start_dash(p, m, 1)
    else:
        start_turn(p, m, True)
    return True


@rule
def walk_option(p, m, c):
    """Walk where the player faces; whether it started."""
    if m.stick_x * p.facing > 0.0:
        enter(p, m, _walk_action(p, c))
        return True
    return False


@rule
def start_dash(p, m, fresh):
    """Dash; ``fresh`` if not out of a turn. The flick that asked for it is used up."""
    enter(p, m, a.DASH)
    m.dash_fresh = fresh
    m.x_age = NEVER


@rule
def start_squat(p, m):
    """Crouch down."""
    enter(p, m, a.SQUAT)
    m.drop_in = 0


@rule
def start_guard(p, m):
    """Raise the shield; a new press of the button, unless the trigger went in before, starts with a power shield."""
    late = p.action == a.RUN or p.action == a.RUN_DIRECT or (p.action == a.DASH and p.action_frame > DASH_LATE)
    m.dash_grab = DASH_GRAB if late else 0
    if p.action == a.DASH:
        p.speed_ground_x *= DASH_STOP
    reflects = m.pressed & TRIGGERS != 0 and m.trigger_age < REFLECT_AGE
    enter(p, m, a.GUARD_REFLECT if reflects else a.GUARD_ON)
    if reflects:
        m.trigger_age = NEVER
    m.guard_lock = GUARD_LOCK_FRAMES
    m.let_go = 0
    m.tilt_x = 0.0
    m.tilt_y = 0.0


@rule
def start_jump_squat(p, m, c):
    """Bend the knees; the jump follows."""
    if p.action == a.DASH:
        p.speed_ground_x = clamp(p.speed_ground_x, c.run_max)
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
    """Walking, in one of three speeds; to turn, the player stands first."""
    if action_options(p, m, c) or flick_options(p, m):
        return
    if m.stick_y <= CROUCH_STICK:
        start_squat(p, m)
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
    if p.action_frame > c.turn_frames:
        enter(p, m, a.WAIT)
        return
    flip = DASH_TURN_FLIP if m.dash_turn == 1 else c.turn_flip
    now = p.action_frame == flip
    if p.action_frame <= flip:  # attacks and grabs go the new way already
        p.facing = -p.facing
        now = now or (p.action_frame == DASH_TURN_FLIP and _swung(p, m))
    if _turn_attacks(p, m, c):
        return
    back = p.action_frame < flip and not now
    after = p.facing
    if back:
        p.facing = -p.facing
    if guard_options(p, m, c):
        return
    flick = m.stick_x * after >= DASH_STICK
    if flick and m.x_age < DASH_AGE and m.dash_turn == 0:
        m.dash_turn = 2
    if now and flick and m.dash_turn != 0:
        start_dash(p, m, 0)


@rule
def _turn_attacks(p, m, c):
    neutral = abs(m.stick_x) < SIDE_STICK and abs(m.stick_y) < UP_STICK  # the one special that a turn does not allow
    if not neutral and start_special(p, m, c):
        return True
    if grab_pressed(m):
        enter(p, m, a.CATCH)
        return True
    return ground_attack(p, m)


@rule
def _swung(p, m):
    """Whether the stick flew across within two frames, which the Universal Controller Fix takes for a flick."""
    swing = abs(m.pad_x - m.pad_x_earlier) > SWING
    return m.stick_x * p.facing >= DASH_STICK and m.x_age < DASH_AGE and swing


@rule
def jump_squat(p, m, c):
    """The frames before leaving the ground; letting go of jump makes it a short hop."""
    if p.action_frame >= c.jump_squat:
        _jump(p, m, c)
        return
    if start_up_special(p, m, c):
        return
    if grab_pressed(m):
        enter(p, m, a.CATCH)
    elif up_smash_asked(m):
        enter(p, m, a.USMASH)
    elif not jump_held(m):
        m.short_hop = 1


@rule
def _jump(p, m, c):
    speed = p.speed_ground_x * c.ground_to_air + m.stick_x_before * c.jump_start_x
    leave_ground(p, m)
    p.jumps_left = m.air_jumps
    if m.y_age > 0:  # a flick on this very frame still jumps again
        m.y_age = NEVER
    p.speed_air_x = clamp(speed, c.jump_max_x)
    p.speed_y = c.short_hop if m.short_hop else c.full_hop
    enter(p, m, a.JUMP_B if m.stick_x_before * p.facing < 0.0 else a.JUMP_F)


@rule
def landing(p, m, c):
    """The landing animation; the player can act after its lag."""
    if p.action_frame >= m.duration:
        enter(p, m, a.WAIT)
    elif p.action_frame >= c.landing_lag:
        ground_options(p, m, c)


@rule
def lag(p, m):
    """Landing lag of an aerial attack or of a special fall; ``m.duration`` frames."""
    if p.action_frame >= m.duration:
        enter(p, m, a.WAIT)


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
