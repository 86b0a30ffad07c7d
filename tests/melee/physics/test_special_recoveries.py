"""Moves with which characters come back: lifts, leaning jumps, and flights that can begin once more."""

import math

import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena, pad

CAPE, PUNCH = 346, 348  # Mario's, in the air
START, FLIGHT, END = 356, 357, 358  # Pikachu's quick attack in the air


def aloft(character):
    """Seat 0 high over the stage, at rest, looking right; seat 1 far away."""
    arena = Arena(character, "mewtwo", "final_destination").place(1, 60.0).place(0, 0.0, 60.0, grounded=False)
    arena.players.facing[0] = 1.0
    return arena


def lift_of(arena):
    """Upward speed on the frame on which the cape lifts."""
    arena.play(1, pad("B", x=1.0)).play(10)
    assert arena.actions[0] == CAPE
    return float(arena.players.speed_y[0])


def test_a_cape_in_the_air_lifts_late_and_only_once_before_a_landing():
    arena = aloft("mario")
    arena.play(1, pad("B", x=1.0)).play(9)
    assert arena.players.speed_y[0] == pytest.approx(-10 * 0.095)  # until then Mario falls as ever
    arena.play(1)
    assert arena.players.speed_y[0] == pytest.approx(0.7 - 0.025)
    arena.play_until(lambda arena: arena.actions[0] != CAPE)
    assert lift_of(arena) == pytest.approx(-0.025)


def test_a_cape_slows_the_fall_only_for_a_while():
    arena = aloft("mario")
    lift_of(arena)
    arena.play(22)
    slow = float(arena.players.speed_y[0])
    assert slow == pytest.approx(0.7 - 23 * 0.025)
    arena.play(1)
    assert arena.players.speed_y[0] == pytest.approx(slow - 0.095)


def direction_of_punch(x):
    """Degrees to the right of straight up, on the first frame that the animation moves Mario."""
    arena = aloft("mario").play(1, pad("B", y=1.0)).play(5, pad(x=x))
    assert arena.actions[0] == PUNCH
    assert arena.players.speed_y[0] == pytest.approx(-1.7)  # it falls by its own gravity before
    arena.play(1, pad(x=x))
    return math.degrees(math.atan2(arena.players.speed_air_x[0], arena.players.speed_y[0]))


def test_a_jump_punch_leans_from_a_push_of_its_own_on():
    straight = direction_of_punch(0.0)
    assert direction_of_punch(0.6) == pytest.approx(straight)  # Marth's would lean here
    assert direction_of_punch(1.0) == pytest.approx(straight + 18.0)


def flown(first, second):
    """A quick attack in the air with one stick for the first flight and one at its end; all its actions in order."""
    arena = aloft("pikachu").play(1, pad("B", y=1.0))
    seen, speeds = [START], []
    for _ in range(60):
        early = len(speeds) == 0
        arena.play(1, pad(x=first[0], y=first[1]) if early else pad(x=second[0], y=second[1]))
        if arena.actions[0] != seen[-1]:
            seen.append(int(arena.actions[0]))
            if seen[-1] == FLIGHT:
                speeds.append(math.hypot(arena.players.speed_air_x[0], arena.players.speed_y[0]))
        if seen[-1] not in (START, FLIGHT, END):
            break
    return seen, speeds


def test_a_quick_attack_flies_once_more_if_the_stick_has_turned():
    seen, (once, again) = flown((0.0, 1.0), (1.0, 0.0))
    assert seen[:5] == [START, FLIGHT, END, FLIGHT, END]
    assert again == pytest.approx(0.9 * once)
    assert FLIGHT not in seen[5:]  # no third flight


@pytest.mark.parametrize("second", [(0.0, 1.0), (0.5, 0.85), (0.0, 0.0)])
def test_a_quick_attack_that_is_not_turned_flies_but_once(second):
    seen, speeds = flown((0.0, 1.0), second)
    assert seen[:3] == [START, FLIGHT, END]
    assert len(speeds) == 1
    assert seen[-1] in (END, a.FALL_SPECIAL)
