"""Special moves of Mewtwo and Sheik that have rules of their own."""

import pytest

from selfplay_melee import actions as a
from selfplay_melee.physics.moves.shadow_ball import FULL, STEP_FRAMES
from tests.melee.arena import Arena, pad

B, RIGHT_B, DOWN_B = pad("B"), pad("B", x=1.0), pad("B", y=-1.0)


def ready(left="mewtwo", gap=60.0, y=None, right="fox", facing=1.0):
    """Seat 0 at 0, looking right, in the air if ``y`` is given; seat 1 to its right, looking left unless told."""
    arena = Arena(left, right).place(1, gap, facing=-facing)
    arena.place(0, 0.0, y or 0.0, grounded=y is None)
    arena.players.facing[0] = 1.0
    return arena


def charged(steps, arena=None, first=B):
    """Shadow Ball is charged by so many steps and still being charged."""
    arena = (arena or ready()).play(1, first).play(17)
    return arena.play(STEP_FRAMES * steps + 1)


def test_a_shadow_ball_charges_a_step_every_17_frames_and_is_kept_by_a_trigger():
    arena = charged(2)
    assert (arena.actions[0], abs(arena.memory.stored[0])) == (342, 3)
    arena.play(1, pad(shoulder=1.0)).play(8)
    assert (arena.actions[0], arena.memory.stored[0]) == (a.WAIT, 3)
    charged(1, arena)
    assert abs(arena.memory.stored[0]) == 4


@pytest.mark.parametrize(
    ("steps", "damage", "speed", "recoil"), [(0, 3.0, 1.6, 0.0), (3, 11.0, 1.6429, 0.56), (7, 25.0, 1.7, 1.32)]
)
def test_a_shadow_ball_flies_as_fast_and_hurts_as_much_as_it_was_charged(steps, damage, speed, recoil):
    arena = charged(steps, ready(gap=80.0)).play(1, B).play(7)
    assert (arena.actions[0], arena.memory.lasers[0]) == (345, 0)
    arena.play(1)
    assert arena.memory.laser_speed_x[0][0] == speed
    assert arena.players.speed_ground_x[0] == pytest.approx(-recoil)
    assert arena.memory.stored[0] == 1
    assert arena.memory.lasers[0] == 1
    arena.play_until(lambda arena: arena.players.percent[1] > 0.0, 60)
    assert arena.players.percent[1] == damage
    arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 30)


def test_a_full_shadow_ball_waits_and_then_starts_with_the_shot():
    arena = charged(7)
    assert (arena.actions[0], arena.memory.stored[0]) == (343, FULL)
    arena.play(1, pad(shoulder=1.0)).play(10).play(1, B).play(17)
    assert arena.actions[0] == 345


def test_a_roll_keeps_the_charge():
    arena = charged(1).play(1, pad(x=1.0))
    assert (arena.actions[0], arena.memory.stored[0]) == (a.ROLL_F, 2)


@pytest.mark.parametrize(("steps", "left"), [(2, 1), (7, FULL)])
def test_a_hit_takes_a_charge_that_is_not_full(steps, left):
    arena = charged(steps, ready(gap=30.0))
    arena.place(1, 14.0, facing=-1.0).play(1, second=pad("A")).play_until(lambda arena: arena.players.percent[0] > 0.0)
    arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 60)
    arena.play(1, B)
    assert arena.memory.stored[0] == left


def test_a_shadow_ball_in_the_air_goes_on_after_landing():
    arena = charged(0, ready(y=40.0))
    assert arena.actions[0] == 347
    arena.play(1, B).play(8)
    assert (arena.actions[0], arena.memory.lasers[0]) == (350, 1)
    arena = charged(0, ready(y=20.0))
    arena.play_until(lambda arena: arena.players.on_ground[0], 40)
    assert arena.actions[0] == 342


def test_the_charge_of_a_shadow_ball_hurts():
    arena = charged(0)
    arena.place(1, 2.0).play_until(lambda arena: arena.players.percent[1] > 0.0, 12)
    assert (arena.players.percent[1], arena.actions[0]) == (2.0, 342)


@pytest.mark.parametrize(("y", "states"), [(None, (351, a.CONFUSED)), (4.0, (352, a.CONFUSED_AIR))])
def test_confusion_spins_its_victim_and_drops_it_in_front(y, states):
    arena = ready(gap=20.0, y=y).play(1, RIGHT_B).play(11)
    assert arena.players.action_frame[0] == 12.0
    assert tuple(arena.actions) == states
    assert arena.players.facing[1] == arena.players.facing[0]
    arena.play(1, second=pad("A"))
    assert arena.players.x[1] - arena.players.x[0] == pytest.approx(17.45)
    assert arena.players.y[1] - arena.players.y[0] == pytest.approx(3.47)
    arena.play(25)
    assert (arena.actions[1], arena.players.percent[1]) == (states[1], 0.0)
    arena.play(1)
    assert (arena.actions[1], arena.players.percent[1]) == (a.DAMAGE_FALL, 10.0)
    arena.play(1, second=pad("A", y=-1.0))
    assert arena.actions[1] == a.DAIR
    arena.play_until(lambda arena: arena.actions[0] in (a.WAIT, a.FALL, a.LANDING), 30)


def test_confusion_goes_through_a_shield_and_ends_as_mewtwo_is_hit():
    arena = ready(gap=20.0).play(20, second=pad(shoulder=1.0)).play(1, RIGHT_B, pad(shoulder=1.0))
    arena.play(13, second=pad(shoulder=1.0))
    assert arena.actions[1] == a.CONFUSED
    arena.players.action[0] = a.DAMAGE_HIGH_1
    arena.play(1)
    assert arena.actions[1] == a.CAPTURE_CUT


def test_confusion_lifts_once_before_a_landing():
    arena = ready(y=90.0).play(1, RIGHT_B)
    assert arena.players.speed_y[0] == pytest.approx(1.418)
    arena.play_until(lambda arena: arena.actions[0] == a.FALL, 60)
    arena.play(1, RIGHT_B)
    assert (arena.actions[0], arena.players.speed_y[0]) == (352, -1.5)


def test_confusion_turns_shots_which_stay_their_owners():
    arena = ready(gap=75.0).play(1, RIGHT_B, B)
    arena.play_until(lambda arena: arena.memory.laser_speed_x[1][0] > 0.0, 40)
    assert (arena.actions[0], arena.memory.lasers[0], arena.memory.lasers[1]) == (351, 0, 1)
    arena.play(40)
    assert list(arena.players.percent) == [0.0, 0.0]


def test_disable_stuns_a_grounded_victim_that_looks_at_it():
    arena = ready(gap=18.0).play(1, DOWN_B).play(14)
    assert (arena.actions[0], arena.memory.lasers[0]) == (359, 1)
    arena.play_until(lambda arena: arena.actions[1] == a.DAMAGE_BIND, 8)
    assert arena.players.percent[1] == 1.0
    frames = arena.play_until(lambda arena: arena.actions[1] == a.WAIT, 120)
    assert frames == 99  # 2 of them hitlag


def test_inputs_shorten_the_stun():
    arena = ready(gap=18.0).play(1, DOWN_B)
    arena.play_until(lambda arena: arena.actions[1] == a.DAMAGE_BIND, 30)
    arena.play(5).play(1, second=pad("A"))
    assert arena.play_until(lambda arena: arena.actions[1] == a.WAIT, 120) == 99 - 5 - 6


def test_disable_overlooks_a_victim_that_looks_away_and_ends_after_its_reach():
    arena = ready(gap=18.0, facing=-1.0).play(1, DOWN_B).play(14)
    arena.play_until(lambda arena: arena.memory.lasers[0] == 0, 10)
    assert arena.players.percent[1] == 0.0
    arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 30)


def test_disable_lets_a_victim_in_the_air_tumble():
    arena = ready(gap=18.0, y=30.0).play(1, DOWN_B).play(13)
    assert arena.actions[0] == 360
    arena.place(1, 18.0, float(arena.players.y[0]), facing=-1.0, grounded=False)
    arena.play_until(lambda arena: arena.players.percent[1] > 0.0, 10)
    assert (arena.actions[1], arena.players.percent[1]) == (a.DAMAGE_FALL, 1.0)


SHEIK, ZELDA = 7, 19


def test_sheik_becomes_zelda_and_back():
    arena = ready("sheik")
    arena.players.percent[0] = 33.0
    arena.play(1, DOWN_B).play(35)
    assert (arena.actions[0], arena.players.action_frame[0], arena.players.character[0]) == (361, 36.0, SHEIK)
    assert arena.players.invulnerable[0] == 1
    arena.play(1)
    assert (arena.actions[0], arena.players.action_frame[0], arena.players.character[0]) == (356, 0.0, ZELDA)
    assert (arena.players.percent[0], arena.players.invulnerable[0]) == (33.0, 0)
    arena.play(25)
    assert (arena.actions[0], arena.players.action_frame[0]) == (356, 25.0)
    arena.play(1)
    assert arena.actions[0] == a.WAIT
    arena.play(1, pad("X")).play_until(lambda arena: not arena.players.on_ground[0])
    zelda = arena.tables.characters[arena.tables.character_rows[ZELDA]]
    assert arena.players.speed_y[0] == pytest.approx(zelda["short_hop"])
    arena.play_until(lambda arena: arena.players.on_ground[0])
    arena.play_until(lambda arena: arena.actions[0] == a.WAIT)
    arena.play(1, DOWN_B).play(43)
    assert (arena.actions[0], arena.players.character[0]) == (362, SHEIK)


def test_zelda_falls_slowly_while_she_transforms_and_goes_on_after_landing():
    arena = ready("zelda", y=30.0).play(1, DOWN_B).play(42)
    assert (arena.actions[0], arena.players.speed_y[0]) == (357, -0.75)
    arena.play(1)
    assert (arena.actions[0], arena.players.character[0]) == (364, SHEIK)
    arena.play_until(lambda arena: arena.players.on_ground[0], 20)
    assert arena.actions[0] == 362
    arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 25)


def test_a_new_game_begins_with_the_first_character():
    arena = ready("sheik").play(1, DOWN_B).play(40)
    assert arena.players.character[0] == ZELDA
    arena.restart()
    assert arena.players.character[0] == SHEIK
    assert arena.memory.character_row[0] == arena.tables.character_rows[SHEIK]
    arena.restart()
    assert arena.players.character[0] == SHEIK


def test_the_chain_comes_out_stays_while_b_is_held_and_goes_in():
    arena = ready("sheik").play(1, RIGHT_B).play(32, B)
    assert (arena.actions[0], arena.players.action_frame[0]) == (349, 33.0)
    arena.play(40, B)
    assert arena.actions[0] == 350
    arena.play(1)
    assert (arena.actions[0], arena.players.action_frame[0]) == (351, 0.0)
    arena.play(39)
    assert arena.actions[0] == 351
    arena.play(1)
    assert arena.actions[0] == a.WAIT


def test_a_chain_that_was_let_go_is_swung_for_11_frames():
    arena = ready("sheik").play(1, RIGHT_B).play(32 + 11)
    assert (arena.actions[0], arena.players.action_frame[0]) == (350, 10.0)
    arena.play(1)
    assert arena.actions[0] == 351


def test_the_chain_hurts_at_its_end_as_it_comes_out_and_again_as_it_is_swung():
    arena = ready("sheik", gap=42.0).play(1, RIGHT_B).play(22, B)
    assert arena.players.percent[1] == 0.0
    arena.play_until(lambda arena: arena.players.percent[1] > 0.0, 15, B)
    assert arena.players.percent[1] == 3.0
    arena = ready("sheik", gap=80.0, right="mewtwo").play(1, RIGHT_B).play(40, B).play(30, pad("B", y=1.0))
    assert arena.memory.path_lean[0] > 60.0
    arena.place(1, 36.0).play_until(lambda arena: arena.players.percent[1] > 0.0, 40, pad("B", x=1.0))
    assert arena.actions[0] == 350


def test_a_chain_at_rest_does_not_hurt():
    arena = ready("sheik", gap=80.0).play(1, RIGHT_B).play(60, pad("B", x=1.0))
    assert abs(arena.memory.path_lean[0]) < 1.0
    arena.place(1, 36.0).play(30, pad("B", x=1.0))
    assert arena.players.percent[1] == 0.0


def test_the_chain_stops_a_fall_until_it_comes_out_and_ends_with_a_landing():
    arena = ready("sheik", y=40.0).play(1, RIGHT_B).play(20, B)
    assert (arena.actions[0], arena.players.speed_y[0], arena.players.y[0]) == (352, 0.0, 40.0)
    arena.play(1, B)
    assert arena.players.speed_y[0] == pytest.approx(-0.12)
    arena.play_until(lambda arena: arena.players.on_ground[0], 60, B)
    assert (arena.actions[0], arena.players.action_frame[0]) == (351, 0.0)
