"""Melee's formulas for knockback, stun and lag. Sources: SmashWiki "Knockback", checked against real replays."""

from __future__ import annotations

import math

from selfplay.compilation.compile import rule
from selfplay_melee.physics.angles import cosine, norm, sine

LAUNCH_SPEED = 0.03  # units a frame per unit of knockback
DECAY = 0.051  # of launch speed, units a frame a frame
HITSTUN = 0.4  # frames per unit of knockback
MAX_KNOCKBACK = 2500.0
CROUCH_FACTOR = 2.0 / 3.0
CHARGING_FACTOR = 1.2  # of a victim that charges a smash attack
FIXED_PERCENT = 10.0  # percent that moves with set knockback assume
SAKURAI_ANGLE = 361.0
SAKURAI_GROUND_LIMIT = 32.1
SAKURAI_LAUNCH = 44.0
SAKURAI_AIR = 45.0
DI_DEGREES = 18.0


@rule
def knockback(percent, damage, weight, growth, base, fixed):
    """Knockback of a hit of ``damage``; ``percent``: the victim's, whole, before the hit, plus what the hit took.

    KB = ((p/10 + p*d/20) * 200/(w + 100) * 1.4 + 18) * growth/100 + base; with set knockback p = 10 and d = fixed.
    """
    if fixed > 0.0:
        percent = FIXED_PERCENT
        damage = fixed
    strength = percent / 10.0 + percent * damage / 20.0
    value = (strength * 200.0 / (weight + 100.0) * 1.4 + 18.0) * growth / 100.0 + base
    return min(value, MAX_KNOCKBACK)


@rule
def launch_angle(angle, value, on_ground):
    """Degrees over the horizon, away from the attacker; resolves the Sakurai angle."""
    if angle != SAKURAI_ANGLE:
        return angle
    if not on_ground:
        return SAKURAI_AIR
    return 0.0 if value < SAKURAI_GROUND_LIMIT else SAKURAI_LAUNCH


@rule
def hitlag(damage):
    """Frames for which a hit freezes both players."""
    return math.floor(damage / 3.0 + 3.0)


@rule
def hitstun(value):
    """Frames without control after a hit."""
    return math.floor(HITSTUN * value)


@rule
def shield_stun(damage, give):
    """Shield stun in frames, with fraction; ``give`` as of ``shield_give``, lighter shields are stunned longer."""
    return (math.floor(damage) * give * 1.5 + 2.0) * 200.0 / 201.0


@rule
def shield_give(trigger):
    """Factor of the stun of a shield held with ``trigger`` (0.3..1): 0.95 for the lightest down to 0.3."""
    return 0.65 * (1.0 - (trigger - 0.3) / 0.7) + 0.3


@rule
def influence(speed_x, speed_y, stick_x, stick_y):
    """Launch speed after directional influence: up to 18 degrees, by the stick's component across the launch."""
    speed = norm(speed_x, speed_y)
    if speed == 0.0:
        return speed_x, speed_y
    across = (speed_x * stick_y - speed_y * stick_x) / speed
    turn = DI_DEGREES * across * abs(across)
    cos = cosine(turn)
    sin = sine(turn)
    return speed_x * cos - speed_y * sin, speed_x * sin + speed_y * cos


@rule
def decay(speed_x, speed_y):
    """Launch speed one frame later."""
    speed = norm(speed_x, speed_y)
    if speed <= DECAY:
        return 0.0, 0.0
    left = (speed - DECAY) / speed
    return speed_x * left, speed_y * left
