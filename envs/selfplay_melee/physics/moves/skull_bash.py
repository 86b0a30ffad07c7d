"""Pikachu's side special: a charge for as long as B is held, then a flight whose speed and damage grow with it.

``move_value`` is the charge in frames. Rules: doldecomp/melee, ftPk_SpecialS.c. Figures are those of Super Smash Bros.
Brawl (BrawlRE, Article_Variables.md) unless noted: its full charge, its speed upwards and its fall at the end explain
each frame of the flight in libmelee's framedata.csv.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee.controller import BUTTON_B
from selfplay_melee.physics.actions.attack import CHARGE_DAMAGE, MAX_CHARGE
from selfplay_melee.physics.actions.special_motion import continue_as
from selfplay_melee.physics.change import leave_ground
from selfplay_melee.physics.motion import toward

START, CHARGE, LANDING, LAUNCH, FLIGHT, END = 343, 344, 346, 347, 350, 351
AIR = 5  # from START, CHARGE and LAUNCH to the same in the air
FULL = 90.0  # frames of a full charge
FLICK_AGE, FLICK = 3, 20.0  # frames after the stick left its rest within which B begins with some charge, and how much
SPEED, SPEED_GAIN = 1.6, 1.6  # forward without a charge, and what a full one adds
RISE, RISE_GAIN = 0.4, 0.4  # the same upward
DAMAGE, DAMAGE_GAIN = 4.0, 25.0  # FightCore: 4 to 29; the first is also in the table
SLOW_FROM = 24.0  # first frame of the flight that slows down; framedata.csv
SLOWING = 0.05
EARLY_GRAVITY, GRAVITY, FALL_SPEED = 0.01, 0.1, 1.1  # the first is that of the table; gravities: framedata.csv
KEPT = 1.0 / 1.5  # share of the speed sideways that a landing leaves
STOPPED = 0.5  # share of its way below which a flight has met a wall; the mock's own


@rule
def play(p, m, tables):
    """One frame: charge, launch, fly, and stop at what the flight meets."""
    if p.action == CHARGE or p.action == CHARGE + AIR:
        if m.special_frames > 0:  # not as the charge begins
            m.move_value += 1.0
        m.special_frames = 1
        if m.held & BUTTON_B == 0 or m.move_value > FULL:
            m.move_value = min(m.move_value, FULL)
            continue_as(p, m, tables, LAUNCH if p.action == CHARGE else LAUNCH + AIR)
    elif p.action == FLIGHT:
        if m.age == 0:
            _launch(p, m)
        elif m.hit_groups != 0:  # it has hit a player or a shield
            p.speed_air_x = 0.0
            p.speed_y = min(p.speed_y, 0.0)
            continue_as(p, m, tables, END)
        elif (p.x - m.aim_x) * p.facing < STOPPED * abs(p.speed_air_x):
            continue_as(p, m, tables, END)
    elif p.action == LANDING and m.age == 1:
        p.speed_ground_x *= KEPT


@rule
def _launch(p, m):
    share = m.move_value / FULL
    leave_ground(p, m)
    p.speed_air_x = p.facing * (SPEED + SPEED_GAIN * share)
    p.speed_y = RISE + RISE_GAIN * share
    # in frames of a smash attack, whose factor the hit then takes
    m.charge = DAMAGE_GAIN / DAMAGE * share / CHARGE_DAMAGE * MAX_CHARGE


@rule
def set_speed(p, m):
    """A flick of the stick counts as some charge at once; the flight slows down late."""
    if p.action == START or p.action == START + AIR:
        if p.action_frame == 1.0:
            m.move_value = FLICK if m.x_age < FLICK_AGE else 0.0
    elif p.action == FLIGHT:
        if p.action_frame >= SLOW_FROM:
            p.speed_air_x = toward(p.speed_air_x, 0.0, SLOWING)
            p.speed_y = max(p.speed_y + EARLY_GRAVITY - GRAVITY, -FALL_SPEED)
        m.aim_x = p.x  # before its step
