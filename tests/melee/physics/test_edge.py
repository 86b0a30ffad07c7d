"""What players on the ground do at the end of a surface."""

import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena, pad

EDGE = 85.5657  # of Final Destination


def sliding(action, facing=1.0, speed=1.0, frame=1.0):
    """A fox just before the right edge, sliding towards it in an action."""
    arena = Arena("fox", "fox").place(0, EDGE - 0.5, facing=facing).place(1, 0.0)
    arena.players.action[0], arena.players.action_frame[0] = action, frame
    arena.players.speed_ground_x[0] = speed
    arena.memory.duration[0] = 30.0
    return arena


@pytest.mark.parametrize("action", [a.WAIT, a.RUN_BRAKE, a.LANDING, a.LANDING_FALL_SPECIAL, a.LANDING_DAIR])
def test_who_stands_or_lands_and_faces_the_edge_teeters(action):
    arena = sliding(action).play(1)
    assert arena.actions[0] == a.TEETER
    assert arena.players.x[0] == EDGE
    assert arena.players.speed_ground_x[0] == 0.0
    assert arena.players.on_ground[0]


@pytest.mark.parametrize("action", [a.WAIT, a.LANDING, a.LANDING_FALL_SPECIAL])
def test_who_faces_away_from_the_edge_falls(action):
    arena = sliding(action, facing=-1.0).play(1)
    assert arena.actions[0] == a.FALL
    assert arena.players.x[0] > EDGE


def test_who_holds_the_stick_towards_the_edge_falls():
    assert sliding(a.LANDING_FALL_SPECIAL).play(1, pad(x=0.7)).actions[0] == a.TEETER
    assert sliding(a.LANDING_FALL_SPECIAL).play(1, pad(x=0.8)).actions[0] == a.FALL


@pytest.mark.parametrize("action", [a.SQUAT_WAIT, a.TECH, a.TURN, a.DOWN_WAIT])
def test_who_crouches_or_turns_or_lies_falls(action):
    assert sliding(action).play(1, pad(y=-1.0) if action == a.SQUAT_WAIT else pad()).actions[0] == a.FALL


@pytest.mark.parametrize("facing", [-1.0, 1.0])
@pytest.mark.parametrize("action", [a.FTILT, a.CATCH])
def test_who_attacks_or_grabs_stops(action, facing):
    arena = sliding(action, facing, frame=3.0).play(1)
    assert arena.actions[0] == action
    assert arena.players.x[0] == EDGE


def test_who_teeters_may_act_but_does_not_walk_off():
    arena = sliding(a.WAIT).play(3)
    assert arena.play(1, pad(x=0.4)).actions[0] == a.TEETER
    frames = arena.play_until(lambda arena: arena.actions[0] == a.TEETER_WAIT, 20)
    assert 5 < frames < 13
    assert arena.play(30, pad(x=0.5)).actions[0] == a.TEETER_WAIT
    assert arena.play(1, pad("X")).actions[0] == a.JUMP_SQUAT
    arena = sliding(a.WAIT).play(3).play(1, pad(x=-1.0))
    assert arena.actions[0] == a.TURN


def test_who_is_pushed_backwards_stops_at_the_edge():
    arena = Arena("fox", "fox").place(0, EDGE - 0.1, facing=-1.0).place(1, EDGE - 3.0)
    arena.play(3)
    assert arena.players.x[0] == EDGE
    assert arena.players.on_ground[0]


def test_a_push_takes_who_crouches_over_the_edge():
    arena = Arena("fox", "fox").place(0, EDGE - 0.1, facing=-1.0).place(1, EDGE - 3.0)
    arena.players.action[0] = a.SQUAT_WAIT
    arena.play(1, pad(y=-1.0))
    assert arena.actions[0] == a.FALL
    assert arena.players.x[0] == pytest.approx(EDGE + 0.2)


def test_who_leaves_a_sloped_floor_goes_on_along_its_slope():
    arena = Arena("fox", "fox", "yoshis_story").place(1, 0.0).surface(1, 0).place(0, 55.0).surface(0, 0)
    arena.players.y[0] = -3.5 * (55.0 - 39.2) / 16.8
    arena.players.facing[0], arena.players.action[0], arena.players.action_frame[0] = 1.0, a.DASH, 3.0
    arena.players.speed_ground_x[0] = 1.8
    arena.play(1, pad(x=1.0))
    assert arena.actions[0] == a.FALL
    slope = -3.5 / 16.8
    assert arena.players.y[0] == pytest.approx(slope * (arena.players.x[0] - 39.2))
    assert -0.5 < arena.players.speed_y[0] < -0.3
