"""How special moves end: the last frames of a path, the helpless fall after it, and its landing."""

import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena, pad

DIVE, SLASH, BACK, POUND, POUND_GROUND = 354, 368, 358, 364, 363
RIGHT = pad(x=1.0)


def aloft(character, y=60.0):
    """Seat 0 over the stage, at rest, looking right; seat 1 far away."""
    arena = Arena(character, "mewtwo", "final_destination").place(1, 60.0).place(0, 0.0, y, grounded=False)
    arena.players.facing[0] = 1.0
    return arena


@pytest.mark.parametrize(("character", "scale", "top"), [("cptfalcon", 1.0, 1.12), ("ganondorf", 1.1134, 0.78)])
def test_a_falcon_dive_moves_forward_and_comes_down_by_its_animation(character, scale, top):
    arena = aloft(character).play(1, pad("B", y=1.0)).play(14, RIGHT)
    assert arena.players.action_frame[0] == 15.0
    assert arena.players.speed_air_x[0] == pytest.approx(0.3513 * scale + min(14 * 0.044, 0.85 * top), abs=1e-3)
    arena.play(1)  # without the stick nothing but the animation is left
    assert arena.players.speed_air_x[0] == pytest.approx(0.3547 * scale, abs=1e-3)
    arena.play(43)
    assert (arena.actions[0], arena.players.action_frame[0]) == (DIVE, 59.0)
    assert arena.players.speed_y[0] == pytest.approx(-1.6605 * scale, abs=1e-3)


def test_a_falcon_dive_turns_on_its_13th_frame():
    arena = aloft("cptfalcon").play(1, pad("B", y=1.0)).play(11, pad(x=-1.0))
    assert arena.players.facing[0] == 1.0
    arena.play(1, pad(x=-1.0))
    assert (arena.players.action_frame[0], arena.players.facing[0]) == (13.0, -1.0)


def after_slash(stick):
    arena = aloft("marth", 150.0).play(1, pad("B", y=1.0))
    arena.play_until(lambda arena: arena.actions[0] == a.FALL_SPECIAL, 60)
    return arena.play(40, pad(x=stick))


def test_the_fall_after_a_dolphin_slash_limits_the_drift_whatever_the_stick_and_falls_fast():
    assert after_slash(0.7).players.speed_air_x[0] == pytest.approx(0.36)
    assert after_slash(1.0).players.speed_air_x[0] == pytest.approx(0.36)
    assert after_slash(0.0).players.speed_y[0] == -2.5


def test_a_teleport_goes_on_without_friction_after_it_has_slowed_down():
    arena = aloft("mewtwo", 30.0).play(1, pad("B", y=1.0), pad())
    arena.play_until(lambda arena: arena.actions[0] == BACK, 40, pad(x=1.0))
    seen = []
    while arena.actions[0] == BACK:
        seen.append((float(arena.players.speed_air_x[0]), float(arena.players.speed_y[0])))
        arena.play(1)
    assert len(seen) == 15
    assert seen[7][0] == pytest.approx(seen[0][0] - 7 * 0.016)
    assert [x for x, _ in seen[8:]] == pytest.approx([0.72] * 7)
    assert [y for _, y in seen[8:]] == pytest.approx([seen[7][1] - 0.082 * i for i in range(1, 8)])


def landing(character, action, speed):
    """The action after a landing in a helpless fall after a move."""
    arena = aloft(character, 1.0)
    arena.players.action[0], arena.players.speed_y[0] = a.FALL_SPECIAL, speed
    row = arena.tables.specials[arena.memory.character_row[0], action - a.FIRST_SPECIAL]
    arena.memory.landing_lag[0], arena.memory.fall_drift[0] = row["landing_lag"], row["fall_drift"]
    arena.memory.lands_hard[0] = row["lands_hard"]
    arena.play_until(lambda arena: arena.players.on_ground[0], 20)
    return arena.actions[0]


def test_a_slow_helpless_fall_lands_without_lag_except_after_some_moves():
    assert landing("mewtwo", BACK, -0.5) == a.WAIT
    assert landing("mewtwo", BACK, -1.5) == a.LANDING_FALL_SPECIAL
    assert landing("marth", SLASH, -0.5) == a.LANDING_FALL_SPECIAL


def test_a_pound_drifts_and_falls_fast_once_it_has_slowed_down():
    arena = aloft("jigglypuff", 100.0).play(1, pad("B", x=1.0))
    arena.play_until(lambda arena: arena.players.action_frame[0] == 39.0, 60)
    speed = float(arena.players.speed_air_x[0])
    arena.play(1, pad(x=-1.0))
    assert arena.players.speed_air_x[0] == pytest.approx(speed - 0.28, abs=0.01)
    arena.play(1).play(1, pad(y=-1.0))
    assert arena.actions[0] == POUND
    assert arena.players.speed_y[0] == -1.6


def test_a_pound_on_the_ground_moves_by_its_animation():
    arena = Arena("jigglypuff", "mewtwo").place(1, 60.0).place(0, 0.0).play(1, pad("B", x=1.0)).play(10)
    assert (arena.actions[0], arena.players.x[0]) == (POUND_GROUND, 0.0)
    arena.play(1)
    assert arena.players.x[0] == pytest.approx(1.88)


def test_kirbys_first_jump_goes_on_to_the_ground():
    arena = Arena("kirby", "mewtwo").place(1, 60.0).place(0, 0.0).play(8, pad("X"))
    seen = set()
    while not arena.players.on_ground[0]:
        seen.add(arena.actions[0])
        arena.play(1)
    assert seen == {a.JUMP_F}
