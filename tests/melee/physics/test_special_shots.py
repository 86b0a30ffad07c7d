"""Shots and kicks: how long a laser is, what sends it back, which special B starts, a kick that a hit slows."""

import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena, pad

KICK, KICK_END, AIR_KICK, KICK_LANDING = 357, 358, 359, 360  # Captain Falcon's


def fired(height=0.0):
    """Falco's laser is on its way along the ground; seat 1 is far above it."""
    arena = Arena("falco", "fox").place(0, -60.0).place(1, 0.0, 60.0 + height, grounded=False)
    arena.play(1, pad("B")).play_until(lambda arena: arena.memory.lasers[0] == 1, 30)
    return arena


@pytest.mark.parametrize(("behind", "frames", "hit"), [(25.0, 20, True), (25.0, 3, False), (60.0, 20, False)])
def test_a_laser_grows_behind_its_place(behind, frames, hit):
    """A player who falls onto its tail is hit, once it is as long."""
    arena = fired()
    arena.memory.laser_x[0, 0] = -60.0
    for _ in range(frames):
        arena.place(1, 0.0, 60.0, grounded=False).play(1)
    arena.place(1, float(arena.memory.laser_x[0, 0]) - behind, 0.0).play(1)
    assert (arena.players.percent[1] > 0) == hit


@pytest.mark.parametrize(("held", "reflected"), [(0, True), (20, False)])
def test_a_shield_just_raised_sends_a_laser_back_and_a_held_one_does_not(held, reflected):
    arena = Arena("falco", "fox").place(0, -60.0).place(1, 0.0)
    arena.play(1, pad("B")).play_until(lambda arena: arena.memory.lasers[0] == 1, 30)
    arena.memory.laser_x[0, 0] = -14.0 - 5.0 * held
    life = float(arena.memory.laser_life[0, 0])
    frames = arena.play_until(lambda arena: arena.memory.lasers[0] == 0, 40, second=pad("R"))
    assert frames > held
    assert (arena.memory.lasers[1] == 1) == reflected
    assert (arena.actions[1] == a.GUARD_STUN) != reflected
    if reflected:
        assert arena.memory.laser_life[1, 0] == life - frames


def test_a_shine_sends_nothing_back_before_it_is_up():
    arena = fired().place(1, 0.0)
    arena.memory.laser_x[0, 0] = -12.0
    arena.play(2, second=pad("B", y=-1.0))
    assert arena.memory.lasers[1] == 0


def test_on_the_ground_the_side_special_comes_before_down_and_in_the_air_after():
    ground = Arena("fox").place(0, 0.0).play(1, pad("B", x=0.65, y=-0.75))
    assert ground.actions[0] == 347
    air = Arena("fox").place(0, 0.0, 60.0, grounded=False).play(1, pad("B", x=0.65, y=-0.75))
    assert air.actions[0] == 365
    squat = Arena("fox").place(0, 0.0).play(2, pad("X")).play(1, pad("B", x=0.7, y=0.7))
    assert squat.actions[0] == 353


def test_a_kick_on_the_ground_flies_along_and_slides_out():
    arena = Arena("cptfalcon", "mewtwo").place(0, -70.0).place(1, 80.0).play(20, pad("B", y=-1.0))
    assert (arena.actions[0], arena.players.speed_ground_x[0]) == (KICK, pytest.approx(2.6758))
    arena.play_until(lambda arena: arena.actions[0] == KICK_END, 30)
    assert arena.players.speed_ground_x[0] == pytest.approx(2.14, abs=0.01)
    assert arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 60) == 30


def test_a_kick_that_hits_is_slowed():
    arena = Arena("cptfalcon", "fox").place(0, 0.0).place(1, 15.0)
    arena.play_until(lambda arena: arena.players.percent[1] > 0, 30, pad("B", y=-1.0))
    arena.play_until(lambda arena: arena.players.hitlag[0] == 0, 30)
    assert arena.players.speed_ground_x[0] == pytest.approx(0.6 * 2.6758, abs=1e-4)


def test_a_kick_in_the_air_dives_and_lands_with_its_own_end():
    arena = Arena("cptfalcon", "mewtwo").place(0, 0.0, 60.0, grounded=False).place(1, 80.0)
    arena.play(17, pad("B", y=-1.0))
    assert (arena.actions[0], arena.players.speed_y[0]) == (AIR_KICK, pytest.approx(-3.817))
    arena.play_until(lambda arena: arena.players.on_ground[0], 60)
    assert (arena.actions[0], arena.players.action_frame[0]) == (KICK_LANDING, 0.0)
    assert arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 60) == 45
