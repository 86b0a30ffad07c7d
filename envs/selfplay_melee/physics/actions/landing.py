"""Landing: the action that follows depends on the one in the air."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions import down, special_motion
from selfplay_melee.physics.actions.air import AIR_DODGE_LANDING
from selfplay_melee.physics.angles import norm
from selfplay_melee.physics.change import enter, touch_ground
from selfplay_melee.physics.hits import damage
from selfplay_melee.tables.layout import AFRESH, PATH

SOFT_LANDING = -1.0  # falling slower than this has no landing animation
LANDING_FRAMES = 30.0  # of a plain landing, before whose end the player may act; the animation may be shorter
L_CANCEL_WINDOW = 7
SOFT_FALL, HARD_FALL = 0.5, 5.0  # speeds of a launch from which landing ends being hurt, and from which players fall


@rule
def land(p, m, c, s, tables, surface, fall_speed):
    """Land on a surface."""
    action = p.action
    if damage.is_flying(p) or action == a.DAMAGE_FALL:
        down.meet_floor(p, m, s, surface)
        return
    frame = p.action_frame
    launched = norm(p.speed_attack_x, p.speed_attack_y)
    if damage.is_hurt(action) and launched >= HARD_FALL:
        down.lie_down(p, m, s, surface)
        return
    touch_ground(p, m, s, surface)
    p.speed_attack_y = 0.0
    if down.is_down(p):
        return
    if a.NAIR <= action <= a.DAIR:
        _land_attack(p, m, tables, frame)
    elif (
        a.FALL_SPECIAL <= action <= a.FALL_SPECIAL_B
        and m.landing_lag > 0.0
        and (m.lands_hard or fall_speed <= SOFT_LANDING)
    ):
        start_lag(p, m, tables, a.LANDING_FALL_SPECIAL, m.landing_lag)
    elif action == a.AIR_DODGE:
        start_lag(p, m, tables, a.LANDING_FALL_SPECIAL, AIR_DODGE_LANDING)
    elif special_motion.is_special(p, c):
        _land_special(p, m, tables, fall_speed)
    elif a.SHIELD_BREAK_FLY <= action <= a.SHIELD_BREAK_FALL:
        enter(p, m, a.SHIELD_BREAK_DOWN)
        p.speed_ground_x = 0.0
    elif damage.is_hurt(action):
        if launched >= SOFT_FALL:  # slower, the animation goes on
            p.hitstun = 0.0
            start_lag(p, m, tables, a.LANDING, LANDING_FRAMES)
    else:
        _land_plainly(p, m, tables, fall_speed)


@rule
def _land_plainly(p, m, tables, fall_speed):
    if fall_speed > SOFT_LANDING:
        enter(p, m, a.WAIT)
    else:
        start_lag(p, m, tables, a.LANDING, LANDING_FRAMES)


@rule
def start_lag(p, m, tables, action, frames):
    """Land in ``action`` for ``frames``; its animation is stretched to last as long."""
    enter(p, m, action)
    set_lag(m, tables, action, frames)


@rule
def set_lag(m, tables, action, frames):
    """Stretch a landing animation to just under ``frames``, so that it ends in time."""
    m.duration = float(tables.actions[m.character_row, action].frames)
    m.rate = 1.0 if action == a.LANDING else (m.duration + 0.1) / frames


@rule
def _land_special(p, m, tables, fall_speed):
    """Go on with the move on the ground, or land with its lag."""
    row = special_motion.special_row(p, m, tables)
    if row.lands_as > 0:
        p.action = row.lands_as
        after = special_motion.special_row(p, m, tables)
        if row.drive == PATH and after.drive == PATH:
            p.speed_ground_x = 0.0  # the animation goes on moving the player
        if row.lands_frame == AFRESH:
            enter(p, m, p.action)
            p.action_frame = 0.0
        elif row.lands_frame > 0:
            p.action_frame = float(row.lands_frame)
    elif row.landing_lag > 0.0:
        start_lag(p, m, tables, a.LANDING_FALL_SPECIAL, row.landing_lag)
    else:
        _land_plainly(p, m, tables, fall_speed)


@rule
def attack_lag(m, tables, landing):
    """Frames of lag of the landing action of an aerial attack, halved by an L-cancel."""
    attack = tables.actions[m.character_row, landing - a.LANDING_NAIR + a.NAIR]
    lag = float(attack.landing_lag)
    return float(int(lag / 2.0)) if m.shoulder_age < L_CANCEL_WINDOW and not attack.whole_lag else lag


@rule
def _land_attack(p, m, tables, frame):
    """Landing during an aerial attack: its lag, none in its first and last frames."""
    entry = tables.actions[m.character_row, p.action]
    if frame < entry.autocancel_before or (entry.autocancel_after > 0 and frame > entry.autocancel_after):
        start_lag(p, m, tables, a.LANDING, LANDING_FRAMES)
        return
    landing = a.LANDING_NAIR + (p.action - a.NAIR)
    start_lag(p, m, tables, landing, attack_lag(m, tables, landing))
