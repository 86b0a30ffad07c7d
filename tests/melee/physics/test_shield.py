import itertools

import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena, pad


def test_shield_drains_while_held_and_heals_after():
    arena = Arena().play(30, pad("R"))
    assert arena.actions[0] == a.GUARD
    drained = float(arena.players.shield[0])
    assert drained == pytest.approx(60 - 0.28 * 29, abs=0.3)
    arena.play(1)
    assert arena.actions[0] == a.GUARD_OFF
    assert arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 20) == 16
    healed = float(arena.players.shield[0])
    assert healed > drained
    assert arena.play(10).players.shield[0] == pytest.approx(healed + 0.7)
    assert arena.play(200).players.shield[0] == 60


def test_a_light_shield_drains_slower():
    hard, light = Arena().play(30, pad("R")), Arena().play(30, pad(shoulder=0.5))
    assert light.actions[0] == a.GUARD
    assert light.players.shield[0] == pytest.approx(60 - (60 - hard.players.shield[0]) / 2)


def shielded(attack, gap=8.0):
    arena = Arena("fox", "mewtwo").place(0, 0.0).place(1, gap)
    arena.play(9, second=pad("R")).play(1, attack, pad("R"))
    arena.play_until(lambda arena: arena.actions[1] == a.GUARD_STUN, 40, second=pad("R"))
    return arena


def test_blocking_takes_shield_instead_of_damage_and_stuns():
    arena = shielded(pad(c_y=1.0))  # Fox's up smash, 18 damage
    assert arena.players.percent[1] == 0
    assert arena.players.shield[1] == pytest.approx(60 - 18 * 0.7, abs=0.28 * 20)
    assert arena.players.hitlag.tolist() == [9, 9]
    arena.play(8, second=pad("R"))
    # 200/201 * (18 * 0.3 * 1.5 + 2) = 10.05 frames of stun
    assert arena.play_until(lambda arena: arena.actions[1] == a.GUARD, 30, second=pad("R")) == 11  # free on the next


def test_blocking_pushes_back():
    arena = shielded(pad(c_y=1.0)).play(20, second=pad("R"))
    assert arena.players.x[1] > 8.2


def test_a_broken_shield_flies_up_and_stands_dizzy():
    arena = Arena().place(0, 0.0)
    arena.players.shield[0] = 1.0
    arena.play_until(lambda arena: arena.actions[0] == a.SHIELD_BREAK_FLY, 10, pad("R"))
    arena.play_until(lambda arena: arena.actions[0] == a.SHIELD_BREAK_FALL, 60)
    arena.play_until(lambda arena: arena.actions[0] == a.SHIELD_BREAK_DOWN, 120)
    arena.play_until(lambda arena: arena.actions[0] == a.DIZZY, 80)
    assert arena.players.shield[0] == pytest.approx(30, abs=15)
    idle = arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 600)
    assert idle > 300


def test_mashing_ends_dizziness_sooner():
    arena = Arena().place(0, 0.0)
    arena.players.action[0], arena.memory.dizzy_for[0] = a.DIZZY, 400.0
    frames = 0
    while arena.actions[0] == a.DIZZY:
        arena.play(1, pad("A" if frames % 2 else ""))
        frames += 1
    assert frames < 250


def test_hits_break_shields():
    arena = Arena("fox", "mewtwo").place(0, 0.0).place(1, 8.0)
    arena.players.shield[1] = 8.0
    arena.play(3, second=pad("R")).play(1, pad(c_y=1.0), pad("R"))
    arena.play_until(lambda arena: arena.actions[1] == a.SHIELD_BREAK_FLY, 30, second=pad("R"))
    assert arena.players.percent[1] == 0


@pytest.mark.parametrize(
    ("inputs", "action"),
    [
        (pad("R", x=1.0), a.ROLL_F),
        (pad("R", x=-1.0), a.ROLL_B),
        (pad("R", c_x=-1.0), a.ROLL_B),
        (pad("R", y=-1.0), a.SPOT_DODGE),
        (pad("R A"), a.CATCH),
        (pad("R Z"), a.CATCH),
        (pad("R X"), a.JUMP_SQUAT),
        (pad("R", y=1.0), a.JUMP_SQUAT),
        (pad("R B", y=1.0), a.JUMP_SQUAT),
        (pad("R", c_y=0.625), a.GUARD),
        (pad("R", c_y=0.75), a.JUMP_SQUAT),
    ],
)
def test_options_out_of_shield(inputs, action):
    assert Arena().play(9, pad("R")).play(1, inputs).actions[0] == action


def test_rolls_move_and_are_intangible():
    arena = Arena("fox", "mewtwo").place(0, 0.0).place(1, 60.0)
    arena.play(9, pad("R")).play(1, pad("R", x=1.0)).play(5)
    assert arena.players.invulnerable[0]
    arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 40)
    assert arena.players.x[0] == pytest.approx(33.6, abs=0.5)  # libmelee's figure for Fox
    assert arena.players.facing[0] == -1
    arena.play(9, pad("R")).play(1, pad("R", x=1.0))
    assert arena.actions[0] == a.ROLL_B
    arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 40)
    assert arena.players.x[0] == pytest.approx(67.2, abs=1.0)


def test_a_small_shield_lets_high_hits_through():
    arena = Arena("fox", "mewtwo").place(0, 0.0).place(1, 8.0)
    arena.players.shield[1] = 5.0
    arena.play(2, second=pad("R")).play(1, pad("A", y=0.5), pad("R"))
    arena.play_until(lambda arena: arena.players.percent[1] > 0 or arena.players.hitlag[1] > 0, 40, second=pad("R"))
    assert arena.players.percent[1] > 0


def test_a_shield_sends_the_attacker_back():
    arena = shielded(pad(c_y=1.0))  # Fox's up smash, 18 damage, on a hard shield
    arena.play(9, second=pad("R"))
    speeds = [-float(arena.players.x[0]), *(-float(arena.play(1, second=pad("R")).players.x[0]) for _ in range(3))]
    # 0.02 + 0.07 * 18, less 1.1 of Fox's traction of 0.08 each frame
    steps = [after - before for before, after in itertools.pairwise(speeds)]
    assert steps == pytest.approx([1.28 - 0.088 * k for k in (2, 3, 4)], abs=1e-6)


def test_a_light_shield_slides_farther_and_sends_back_less():
    hard, light = shielded(pad(c_y=1.0)), Arena("fox", "mewtwo").place(0, 0.0).place(1, 8.0)
    light.play(9, second=pad(shoulder=0.5)).play(1, pad(c_y=1.0), pad(shoulder=0.5))
    light.play_until(lambda arena: arena.actions[1] == a.GUARD_STUN, 40, second=pad(shoulder=0.5))
    assert light.players.speed_ground_x[1] > hard.players.speed_ground_x[1]
    assert abs(light.memory.recoil[0]) < abs(hard.memory.recoil[0])


def test_letting_go_of_a_shield_comes_before_a_jump():
    arena = Arena().play(12, pad("R"))
    assert arena.play(1, pad(y=1.0)).actions[0] == a.GUARD_OFF
    assert arena.play(1, pad(y=1.0)).actions[0] == a.JUMP_SQUAT


def test_a_c_stick_that_is_out_already_rolls():
    arena = Arena()
    arena.players.action[0], arena.players.action_frame[0], arena.memory.duration[0] = a.LANDING, 0.0, 30.0
    arena.play(2, pad(c_x=-1.0)).play(4, pad("R", c_x=-1.0))
    assert arena.actions[0] == a.ROLL_B


def test_only_a_press_on_the_second_frame_reflects():
    assert Arena().play(1, pad(shoulder=0.5)).play(1, pad("R")).actions[0] == a.GUARD_REFLECT
    assert Arena().play(2, pad(shoulder=0.5)).play(1, pad("R")).actions[0] == a.GUARD_ON


def test_a_shield_once_let_go_is_lowered():
    arena = Arena().play(3, pad("R")).play(1).play(4, pad("R"))
    assert arena.actions[0] == a.GUARD_REFLECT
    assert arena.play(1, pad("R")).actions[0] == a.GUARD_OFF


def test_lowering_a_shield_allows_a_spot_dodge():
    assert Arena().play(10, pad("R")).play(2).play(1, pad(y=-1.0)).actions[0] == a.SPOT_DODGE


def test_a_trigger_that_was_half_down_before_does_not_reflect():
    assert Arena().play(4, pad(shoulder=0.5)).play(1, pad("R")).actions[0] == a.GUARD_ON
    assert Arena().play(1, pad("R")).actions[0] == a.GUARD_REFLECT


def test_rolling_the_stick_down_its_rim_drops_through_a_platform():
    """The Universal Controller Fix; a straight flick down dodges."""
    for x, action in ((0.0, a.SPOT_DODGE), (0.75, a.PLATFORM_DROP)):
        arena = Arena(stage="battlefield", offset=100.0).play(6, pad("R", x=min(x, 0.625)))
        assert arena.play(1, pad("R", x=x, y=-0.75)).actions[0] == action


def test_the_stick_shifts_a_shield_in_hitlag_and_as_it_ends():
    """A flick in hitlag shifts by 0.66 of 6 units, a stick that is out as hitlag ends by 0.66 of 3."""
    places = []
    for flick, end in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.5)):
        arena = Arena("falco", "fox").place(0, 0.0).place(1, 10.0)
        arena.play(12, second=pad("R"))
        for _ in range(20):
            arena.play(1, pad("B", y=-1.0), pad("R"))
            if arena.actions[1] == a.GUARD_STUN:
                break
        arena.play(1, second=pad("R", x=flick))
        while arena.players.hitlag[1] > 1:
            arena.play(1, second=pad("R", x=end))
        arena.play(1, second=pad("R"))
        places.append(float(arena.players.x[1]))
    flicked, at_the_end, slight = (x - places[0] for x in places[1:])
    assert flicked == pytest.approx(3.96)
    assert at_the_end == pytest.approx(3.96 + 1.98)  # the stick came out in hitlag too
    assert slight == pytest.approx(0.0)


@pytest.mark.parametrize(("character", "frames"), [("fox", 8), ("dk", 7), ("kirby", 7)])
def test_a_shield_takes_its_characters_time_to_come_up(character, frames):
    arena = Arena(character).play(1, pad(shoulder=0.5))
    assert arena.play_until(lambda arena: arena.actions[0] != a.GUARD_ON, 20, pad(shoulder=0.5)) == frames
    assert arena.actions[0] == a.GUARD
