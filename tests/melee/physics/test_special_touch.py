"""Moves that look for the opponent first, and hit only after they met it: Captain Falcon's raptor boost."""

import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena, pad

START, HIT, AIR_START, AIR_HIT = 349, 350, 351, 352


def test_a_boost_that_meets_nobody_dashes_and_ends():
    arena = Arena("cptfalcon", "fox").place(0, -70.0).place(1, 80.0).play(1, pad("B", x=1.0)).play(16)
    assert (arena.actions[0], arena.players.speed_ground_x[0]) == (START, pytest.approx(5.6085))
    arena.play_until(lambda arena: arena.actions[0] != START, 80)
    assert arena.actions[0] == a.WAIT
    assert arena.players.percent[1] == 0


def test_a_boost_that_meets_the_opponent_becomes_the_hit_and_hurts_only_then():
    arena = Arena("cptfalcon", "fox").place(0, 0.0).place(1, 15.0)
    assert arena.play_until(lambda arena: arena.actions[0] == HIT, 40, pad("B", x=1.0)) >= 15
    assert (arena.players.action_frame[0], arena.players.percent[1], arena.players.hitlag[0]) == (0, 0, 0)
    assert arena.play_until(lambda arena: arena.players.percent[1] > 0, 10) == 3
    assert arena.players.percent[1] == 7
    arena.play_until(lambda arena: arena.actions[0] != HIT, 40)
    assert arena.actions[0] == a.WAIT


def test_a_boost_in_the_air_stops_as_it_meets_the_opponent_and_falls_slowly():
    arena = Arena("cptfalcon", "fox", "final_destination").place(0, 0.0, 60.0, grounded=False)
    arena.players.facing[0] = 1.0
    arena.play(1, pad("B", x=1.0)).play(16)
    assert (arena.actions[0], arena.players.speed_air_x[0]) == (AIR_START, pytest.approx(1.8296))
    arena.place(1, float(arena.players.x[0]) + 5.0, 60.0, grounded=False).play(1)
    assert arena.actions[0] == AIR_HIT
    arena.play(2)
    assert arena.players.speed_air_x[0] == 0.0
    assert arena.players.speed_y[0] == pytest.approx(-0.1)


@pytest.mark.parametrize(("frame", "left"), [(10, False), (20, True)])
def test_an_edge_stops_a_boost_before_it_dashes(frame, left):
    arena = Arena("cptfalcon", "fox", "final_destination").place(0, 0.0).place(1, -80.0)
    arena.play(1, pad("B", x=1.0)).play(frame - 1)
    edge = 85.5656
    arena.players.x[0] = edge - 0.01
    arena.players.speed_ground_x[0] = 5.0
    arena.play(2)
    assert (arena.actions[0] == a.FALL_SPECIAL) == left
    assert bool(arena.players.on_ground[0]) != left
    if left:
        assert abs(arena.players.speed_air_x[0]) <= 1.12
