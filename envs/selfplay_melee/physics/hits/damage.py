"""The effects of a hit: launch, hitstun and the influence of the stick on both."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.down import is_bouncing
from selfplay_melee.physics.angles import cosine, sine
from selfplay_melee.physics.change import enter, leave_ground
from selfplay_melee.physics.hits.knockback import DECAY, HITSTUN, LAUNCH_SPEED, decay, hitstun, influence
from selfplay_melee.physics.inputs import SMASH_AGE, dash_direction
from selfplay_melee.physics.memory import NEVER
from selfplay_melee.physics.motion import toward
from selfplay_melee.physics.stages.stage import fly, surface_height, surface_left, surface_right

MAX_PERCENT = 999.0
BOUNCE = 0.8  # share of the speed of a launch into the floor that is kept, turned upwards
STEEP = 70.0  # degrees over the horizon from which a launch goes straight up
MIDDLE_STUN, STRONG_STUN, FLY_STUN = 10.0, 21.0, 32.0  # frames of hitstun from which the stronger animations play
LOW_PART, MIDDLE_PART, HIGH_PART = 0, 1, 2  # of the body
CANCEL = 0.95  # of the speed of a launch, if a trigger was pressed
CANCEL_WINDOW = 2
MERGE_FRAMES = 10  # after a hit, without hitlag, from which on another one does not replace its speed
SHIFT_STICK = 0.7  # how far the stick must be out
SDI = 6.0  # units
ASDI = 3.0
SHIELD_SHARE = 0.66  # of both behind a shield; measured from replays
RECOIL_FRICTION = 1.1  # of an attacker whom a shield pushed back, as a share of traction; measured from replays


@rule
def launch(p, m, value, angle, side, part, lying):
    """Take a hit of knockback ``value``, ``angle`` degrees over the horizon to ``side``, on a ``part`` of the body.

    The player moves when hitlag is over. A hit that does not lift a player from the ground slides it; a strong one
    into the ground bounces. A weak hit leaves a ``lying`` player down. Source: doldecomp/melee, ftCo_Damage.c.
    """
    speed = launch_speed(value) * (CANCEL if _cancels(p, m) else 1.0)
    speed_x = side * speed * cosine(angle)
    speed_y = speed * sine(angle)
    flies = lying or HITSTUN * value >= FLY_STUN
    action = _lying_action(p) if lying else _damage_action(p, value, angle, part)
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
    m.lie_for = p.hitstun
    m.knockback = value
    m.launch = 1
    m.ledge = 0
    m.recoil = 0.0
    m.fast_fall = 0
    enter(p, m, action)


@rule
def note_damage(m, victim, memory, damage):
    """Add damage to the victim and credit the attacker."""
    victim.percent = min(victim.percent + damage, MAX_PERCENT)
    m.damage_dealt += damage
    memory.last_hit_by_frames = 0


@rule
def start_hurt(m):
    """What a hit resets: the time since it, and the ages of the stick, so that a stick already out does not shift."""
    m.since_launch = 0
    m.jump_buffer = 0.0
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
def _lying_action(p):
    return a.DOWN_DAMAGE_UP if p.action == a.DOWN_WAIT_UP else a.DOWN_DAMAGE


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
def start_throw(p, m, down, angle):
    """Launch from a throw: no hitlag, and the stick of the previous frame turns the launch.

    A ``down`` throw always launches into the upright tumble; a launch behind the thrower turns the victim around.
    Source: doldecomp/melee, ftCo_Thrown.c.
    """
    if down and a.DAMAGE_HIGH_1 <= p.action <= a.DAMAGE_FLY_ROLL:
        enter(p, m, a.DAMAGE_FLY_TOP)
    if 90.0 < angle < 270.0:
        p.facing = -p.facing
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
def shield_influence(p, m, s):
    """The same behind a shield, only sideways and less far; a stick that stays out shifts once, as hitlag ends."""
    if p.hitlag > 0.0:
        if spend_side_flick(m):
            shift(p, m, s, SHIELD_SHARE * SDI * m.stick_x, 0.0)
    elif abs(m.stick_x_before) >= SHIFT_STICK:
        shift(p, m, s, SHIELD_SHARE * ASDI * m.stick_x_before, 0.0)


@rule
def spend_side_flick(m):
    """Whether the stick was flicked sideways far enough to shift a shield; the flick is then spent."""
    if abs(m.stick_x) < SHIFT_STICK or m.x_age >= SMASH_AGE:
        return False
    m.x_age = NEVER
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
def launch_speed(value):
    """Launch speed of a knockback, units a frame."""
    return value * LAUNCH_SPEED
