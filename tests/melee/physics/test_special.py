"""Special moves: every kind of recovery, shine, lasers, many jumps."""

import numpy as np
import pytest

from selfplay_melee import actions as a
from selfplay_melee.tables import CHARACTERS
from tests.melee.arena import Arena, pad, random_pads
from tests.melee.physics.test_symmetry import play_both

LOW = -20.0  # beside the stage, under its edge
SHINE = 360  # its first action on the ground
CUTTER_FALL = 391  # Kirby's, which nothing but a landing or a ledge ends
UP = pad("B", y=1.0)
NO_UP_SPECIAL = {"jigglypuff", "ness", "zelda"}  # it gains no height, or the tables lack it


def recovering(character):
    """Seat 0 falls left of the stage with no jump left, facing it; seat 1 is far away."""
    arena = Arena(character, "mewtwo").place(1, 70.0).place(0, -105.0, LOW, facing=1.0, grounded=False)
    arena.players.jumps_left[0] = 0
    return arena


@pytest.mark.parametrize("character", sorted(set(CHARACTERS) - NO_UP_SPECIAL))
def test_the_up_special_gains_height_and_ends_helpless_or_on_the_stage(character):
    arena = recovering(character).play(1, UP)
    assert arena.actions[0] >= a.FIRST_SPECIAL
    highest = LOW
    for _ in range(150):
        arena.play(1, pad(y=1.0))
        highest = max(highest, float(arena.players.y[0]))
        if arena.actions[0] in (a.FALL_SPECIAL, a.CLIFF_CATCH, a.LANDING_FALL_SPECIAL):
            break
        if character == "kirby" and arena.actions[0] == CUTTER_FALL:
            break
    else:
        pytest.fail(f"still in {arena.actions[0]}")
    assert highest > LOW + 15


@pytest.mark.parametrize("character", sorted(CHARACTERS))
def test_who_hangs_below_the_ledge_can_come_back(character):
    """Towards the stage and up with everything there is ends at the ledge or on the stage."""
    arena = Arena(character, "mewtwo").place(1, 70.0).place(0, -100.0, -12.0, facing=1.0, grounded=False)
    arena.players.jumps_left[0] = 2 if character == "jigglypuff" else 1
    arena.play(1, pad("X", x=0.6)).play(25, pad(x=0.6))
    if arena.actions[0] != a.CLIFF_CATCH and not arena.players.on_ground[0]:
        arena.play(1, pad("X", x=0.6) if character == "jigglypuff" else UP)
    arena.play_until(
        lambda arena: arena.players.on_ground[0] or a.CLIFF_CATCH <= arena.actions[0] <= a.CLIFF_WAIT,
        150,
        pad(x=0.6, y=0.5),
    )
    assert arena.players.stocks[0] == 4


@pytest.mark.parametrize(("character", "speed"), [("fox", 3.8), ("falco", 4.2)])
@pytest.mark.parametrize(("x", "y"), [(1.0, 0.0), (0.7, 0.7), (0.0, 1.0), (-0.7, 0.7)])
def test_fire_flight_goes_where_the_stick_points(character, speed, x, y):
    arena = recovering(character).place(0, -150.0, 30.0, facing=1.0, grounded=False).play(1, UP)
    arena.play_until(lambda arena: arena.actions[0] == 356, 80, pad(x=x, y=y))
    step = np.array([arena.players.speed_air_x[0], arena.players.speed_y[0]])
    assert np.hypot(*step) == pytest.approx(speed, rel=0.02)
    assert step / np.hypot(*step) == pytest.approx(np.array([x, y]) / np.hypot(x, y), abs=0.03)


@pytest.mark.parametrize(("character", "distance"), [("mewtwo", 30.0), ("sheik", 30.0)])
def test_a_teleport_carries_far_and_cannot_be_hit(character, distance):
    arena = recovering(character).place(0, -150.0, 30.0, facing=1.0, grounded=False).play(1, UP)
    start = float(arena.players.x[0])
    hidden = 0
    for _ in range(120):
        arena.play(1, pad(x=1.0))
        hidden += int(arena.players.invulnerable[0])
        if arena.actions[0] == a.FALL_SPECIAL:
            break
    assert arena.players.x[0] - start > distance
    assert hidden > 5


def test_jigglypuff_jumps_six_times_and_pounds_without_falling_helpless():
    arena = Arena("jigglypuff", "fox").place(1, 60.0).place(0, -40.0).play(1, pad("X")).play(20)
    for left in (4, 3, 2, 1, 0, 0):
        arena.play(1, pad("X")).play(29)
        assert arena.players.jumps_left[0] == left
        assert not arena.players.on_ground[0]
    arena.place(0, -150.0, 30.0, facing=1.0, grounded=False).play(1, pad("B", x=1.0))
    assert arena.actions[0] >= a.FIRST_SPECIAL
    start = float(arena.players.x[0])
    arena.play_until(lambda arena: arena.actions[0] in (a.FALL, a.FALL_AERIAL), 80)
    assert arena.players.x[0] > start + 10


@pytest.mark.parametrize("character", ["fox", "falco"])
def test_shine_hits_on_its_first_frame_and_a_jump_ends_it(character):
    arena = Arena(character, "mewtwo").place(0, 0.0).place(1, 6.0).play(1, pad("B", y=-1.0))
    assert arena.players.percent[1] > 0
    assert arena.actions[0] == SHINE
    arena.play_until(lambda arena: arena.actions[0] != SHINE, 30, pad("B", y=-1.0))
    arena.play(1, pad("X B", y=-1.0))
    assert arena.actions[0] == a.JUMP_SQUAT


def shot(character, other="mewtwo", gap=40.0, hold=None):
    arena = Arena(character, other).place(0, 0.0).place(1, gap)
    arena.play(1, pad("B"), hold or pad())
    return arena


def test_foxs_laser_hurts_without_stun_and_falcos_stuns():
    for character, stunned in (("fox", False), ("falco", True)):
        arena = shot(character)
        arena.play_until(lambda arena: arena.players.percent[1] > 0, 60)
        assert arena.players.percent[1] == 3
        assert (arena.players.hitstun[1] > 0) == stunned
        assert (arena.actions[1] != a.WAIT) == stunned


def test_a_laser_that_meets_nobody_ends_with_its_life():
    arena = shot("fox", gap=80.0)
    arena.play_until(lambda arena: arena.memory.lasers[0] == 1, 20)
    arena.place(1, 0.0, 100.0, grounded=False)
    assert arena.play_until(lambda arena: arena.memory.lasers[0] == 0, 60) <= 36
    assert arena.players.percent[1] == 0


def test_a_shield_stops_a_laser():
    arena = shot("falco", hold=pad("R"))
    arena.play_until(lambda arena: arena.actions[1] == a.GUARD_STUN, 60, second=pad("R"))
    assert arena.players.percent[1] == 0
    assert arena.players.shield[1] < 60
    assert arena.memory.lasers[0] == 0


def test_shine_sends_a_laser_back():
    arena = Arena("falco", "fox").place(0, 0.0).place(1, 40.0)
    arena.play(1, pad("B")).play_until(lambda arena: arena.memory.lasers[0] == 1, 30)
    arena.play(1, second=pad("B", y=-1.0))
    arena.play_until(lambda arena: arena.players.percent[0] > 0, 60, second=pad("B", y=-1.0))
    assert arena.players.percent[1] == 0
    assert arena.players.percent[0] == pytest.approx(4.5)


def test_rest_hits_hard_right_away():
    arena = Arena("jigglypuff", "fox").place(0, 0.0).place(1, 2.0).play(3, pad("B", y=-1.0))
    assert arena.players.percent[1] >= 28


@pytest.mark.parametrize(
    ("left", "right"), [("falco", "fox"), ("marth", "sheik"), ("jigglypuff", "ganondorf"), ("cptfalcon", "falco")]
)
def test_specials_mirror(left, right):
    pads = random_pads(len(left), 3000)
    rng = np.random.default_rng(len(right))
    pads["buttons"] = np.where(rng.random(pads.shape) < 0.12, 2, pads["buttons"])  # B
    play_both(left, right, "battlefield", pads)
