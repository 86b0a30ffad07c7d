"""Melee's formulas against numbers worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay_melee.physics.hits import knockback as formulas
from tests.melee.arena import as_python

knockback = as_python(formulas.knockback)
launch_angle = as_python(formulas.launch_angle)
influence = as_python(formulas.influence)
decay = as_python(formulas.decay)


@pytest.mark.parametrize(
    ("percent", "damage", "weight", "growth", "base", "fixed", "expected"),
    [
        # (1.4 * (10/10 + 10*10/20) * 200/200 + 18) * 1 + 0 = 1.4 * 6 + 18
        (10, 10, 100, 100, 0, 0, 26.4),
        # Fox's up smash on Fox at 82 % before it: p = 100, (10 + 90) * 200/175 * 1.4 + 18 = 178, * 1.12 + 30
        (100, 18, 75, 112, 30, 0, 229.36),
        # Mewtwo's forward smash on Mewtwo: (2 + 12) * 200/185 * 1.4 + 18 = 39.189189..., * 0.8 + 30
        (20, 12, 85, 80, 30, 0, 39.18918918918919 * 0.8 + 30),
        # Set knockback 30: p = 10, d = 30 whatever the percent: (1 + 15) * 1.4 + 18
        (150, 3, 100, 100, 0, 30, 40.4),
        (999, 60, 1, 300, 100, 0, 2500),  # the cap
        (0, 0, 100, 100, 0, 0, 18),
    ],
)
def test_knockback(percent, damage, weight, growth, base, fixed, expected):
    assert knockback(percent, damage, weight, growth, base, fixed) == pytest.approx(expected)


@given(st.floats(0, 900), st.floats(0, 30), st.floats(50, 120))
def test_knockback_grows_with_percent_and_shrinks_with_weight(percent, damage, weight):
    value = knockback(percent, damage, weight, 100, 20, 0)
    assert knockback(percent + 10, damage, weight, 100, 20, 0) >= value
    assert knockback(percent, damage, weight + 10, 100, 20, 0) <= value


@pytest.mark.parametrize(
    ("angle", "value", "on_ground", "expected"),
    [(80, 10, True, 80), (361, 32.0, True, 0), (361, 32.2, True, 44), (361, 10, False, 45), (361, 300, False, 45)],
)
def test_sakurai_angle(angle, value, on_ground, expected):
    assert launch_angle(float(angle), value, on_ground) == expected


# Hitlag and its damage as seen in real replays.
@pytest.mark.parametrize(("damage", "frames"), [(3, 4), (7, 5), (9, 6), (10, 6), (12, 7), (13, 7), (15, 8)])
def test_hitlag(damage, frames):
    assert as_python(formulas.hitlag)(float(damage)) == frames


# Knockback and hitstun as seen in real replays (|v| / 0.03, and the counter after hitlag).
@pytest.mark.parametrize(("value", "frames"), [(120.41111, 48), (127.94001, 51), (131.36221, 52), (133.5089, 53)])
def test_hitstun(value, frames):
    assert as_python(formulas.hitstun)(value) == frames


# Shield stun as FightCore lists it for full shields.
@pytest.mark.parametrize(("damage", "frames"), [(3, 3), (5, 4), (6, 4), (10, 6), (15, 8), (20, 10), (27, 14)])
def test_shield_stun_of_a_full_shield(damage, frames):
    give = as_python(formulas.shield_give)(1.0)
    assert math.floor(as_python(formulas.shield_stun)(float(damage), give)) == frames


def test_a_light_shield_is_stunned_longer():
    give = as_python(formulas.shield_give)
    assert give(0.3) == pytest.approx(0.95)
    assert give(0.3) > give(0.65) > give(1.0)
    assert as_python(formulas.shield_stun)(10.0, 0.95) == pytest.approx((10 * 0.95 * 1.5 + 2) * 200 / 201)


def degrees(x, y):
    return math.degrees(math.atan2(y, x))


@pytest.mark.parametrize(
    ("stick", "turn"),
    [
        ((0.0, 0.0), 0.0),
        ((0.0, 1.0), 18.0),  # across a launch to the right: all of it
        ((0.0, -1.0), -18.0),
        ((1.0, 0.0), 0.0),  # along it: nothing
        ((0.0, 0.5), 4.5),  # 18 * 0.5 ** 2
    ],
)
def test_directional_influence(stick, turn):
    x, y = influence(3.0, 0.0, *stick)
    assert degrees(x, y) == pytest.approx(turn)
    assert math.hypot(x, y) == pytest.approx(3.0)


speeds = st.floats(-20, 20, allow_nan=False)
sticks = st.floats(-1, 1, allow_nan=False)


@given(speeds, speeds, sticks, sticks)
def test_influence_mirrors_bit_for_bit(x, y, stick_x, stick_y):
    right = influence(x, y, stick_x, stick_y)
    left = influence(-x, y, -stick_x, stick_y)
    assert (right[0], right[1]) == (-left[0], left[1])


@given(speeds, speeds)
def test_launches_lose_a_twentieth_unit_a_frame(x, y):
    slower = decay(x, y)
    assert math.hypot(*slower) == pytest.approx(max(math.hypot(x, y) - 0.051, 0.0), abs=1e-9)
