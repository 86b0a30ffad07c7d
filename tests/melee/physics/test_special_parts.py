"""The parts of special moves: how they go on, end, turn and land, and what they leave behind."""

import numpy as np
import pytest

from scripts.studies.fidelity.shots import place_shots
from selfplay_melee import actions as a
from selfplay_melee.replay import ITEM
from tests.melee.arena import Arena, pad

SHINE, LOOP, REFLECTED, LET_GO, TURNED = 360, 361, 362, 363, 364  # on the ground
AIR_SHINE, AIR_LOOP = 365, 366
DOWN_B = pad("B", y=-1.0)
LEAST = 18  # frames of a shine between its start and its end


def alone(character, x=0.0, height=None, stage="final_destination"):
    """Seat 0 on the ground or in the air; seat 1 far away."""
    arena = Arena(character, "mewtwo", stage).place(1, 60.0).place(0, x, height or 0.0, grounded=height is None)
    arena.players.facing[0] = 1.0
    return arena


def frames_in(arena, actions, limit=90, hold=None):
    """Frames that seat 0 stays in some actions."""
    return arena.play_until(lambda arena: arena.actions[0] not in actions, limit, hold or pad())


@pytest.mark.parametrize("character", ["fox", "falco"])
def test_a_shine_lasts_its_least_time_however_early_b_is_let_go(character):
    arena = alone(character).play(1, DOWN_B).play(3)
    assert arena.actions[0] == LOOP
    assert frames_in(arena, [LOOP]) == LEAST
    assert arena.actions[0] == LET_GO
    held = alone(character).play(40, DOWN_B)
    assert held.actions[0] == LOOP
    held.play(1)
    assert held.actions[0] == LET_GO


def test_b_let_go_once_ends_a_shine_even_if_it_is_pressed_again():
    arena = alone("falco").play(1, DOWN_B).play(1).play(40, DOWN_B)
    assert arena.actions[0] not in (SHINE, LOOP)


def test_a_jump_ends_a_shine_from_its_fourth_frame_on():
    early = alone("falco").play(2, DOWN_B).play(1, pad("X B", y=-1.0)).play(2, DOWN_B)
    assert early.actions[0] == LOOP
    soon = alone("falco").play(3, DOWN_B).play(1, pad("X B", y=-1.0))
    assert soon.actions[0] == a.JUMP_SQUAT
    air = alone("falco", height=40.0).play(3, DOWN_B).play(1, pad("X B", y=-1.0))
    assert air.actions[0] == a.JUMP_AERIAL_F


def test_the_stick_turns_a_shine_around_for_three_frames():
    arena = alone("falco").play(6, DOWN_B).play(1, pad("B", x=-1.0))
    assert (arena.actions[0], arena.players.facing[0]) == (TURNED, -1.0)
    assert frames_in(arena, [TURNED], hold=pad("B")) == 3
    assert arena.actions[0] == LOOP


def test_the_time_of_a_turn_counts_for_the_shine():
    arena = alone("falco").play(1, DOWN_B).play(3)
    arena.play(4).play(1, pad(x=-1.0))
    assert 5 + frames_in(arena, [TURNED]) + frames_in(arena, [LOOP]) == LEAST


def test_a_shine_in_the_air_stalls_and_then_falls_slowly():
    arena = alone("fox", height=60.0)
    arena.players.speed_air_x[0] = 0.6
    arena.play(1, DOWN_B)
    assert arena.players.speed_y[0] == 0.0
    assert arena.players.speed_air_x[0] == pytest.approx(0.6 / 2 - 0.02)
    arena.play(3, DOWN_B)
    assert arena.players.speed_y[0] == 0.0
    arena.play(2, DOWN_B)
    assert arena.players.speed_y[0] == pytest.approx(-2 * 0.0267)


def test_a_shine_drops_through_a_platform_and_lands_as_a_shine():
    arena = (
        Arena("falco", "mewtwo", "battlefield").place(1, 60.0).place(0, -38.0).surface(0, 1).play(4, pad("B", y=-1.0))
    )
    arena.play(2, pad("B")).play(1, DOWN_B)
    assert arena.actions[0] == AIR_LOOP
    assert arena.players.speed_y[0] < 0.0
    arena.play_until(lambda arena: arena.players.on_ground[0], 90, pad("B"))
    assert arena.actions[0] == LOOP


def test_who_sends_a_laser_back_faces_it():
    arena = Arena("falco", "fox").place(0, 0.0).place(1, 40.0)
    arena.players.facing[1] = 1.0
    arena.play(1, pad("B")).play_until(lambda arena: arena.memory.lasers[0] == 1, 30)
    arena.play_until(lambda arena: arena.actions[1] == REFLECTED, 30, second=DOWN_B)
    assert arena.players.facing[1] == -1.0


def test_b_ends_an_illusion_early():
    full = alone("fox", height=60.0).play(1, pad("B", x=1.0)).play(40)
    arena = alone("fox", height=60.0).play(1, pad("B", x=1.0))
    arena.play_until(lambda arena: arena.actions[0] == 351, 40)
    arena.play(1).play(1, pad("B"))
    assert arena.actions[0] == 352
    assert arena.players.x[0] < full.players.x[0] - 15
    assert arena.players.jumps_left[0] == 0


def test_lasers_drift_and_land_without_lag_of_their_own():
    arena = alone("falco", height=30.0).play(1, pad("B")).play(8, pad(x=1.0))
    assert arena.players.speed_air_x[0] > 0.4
    arena.play_until(lambda arena: arena.players.on_ground[0], 60)
    assert arena.actions[0] == a.LANDING


def test_a_press_during_a_shot_fires_again():
    once = alone("falco", height=90.0).play(1, pad("B")).play(24)
    assert once.actions[0] == 346
    twice = alone("falco", height=90.0).play(1, pad("B")).play(8).play(1, pad("B")).play(15)
    assert twice.actions[0] == 345


def test_a_shot_on_the_ground_stops_the_player_and_ends_at_an_edge():
    arena = alone("fox")
    arena.players.speed_ground_x[0] = 1.5
    arena.play(1, pad("B"))
    assert arena.players.speed_ground_x[0] == 0.0


def test_a_neutral_special_in_the_air_turns_to_where_the_stick_was_flicked():
    arena = alone("falco", height=60.0).play(1, pad(x=-1.0)).play(3).play(1, pad("B"))
    assert arena.players.facing[0] == -1.0
    late = alone("falco", height=60.0).play(1, pad(x=-1.0)).play(25).play(1, pad("B"))
    assert late.players.facing[0] == 1.0


def test_fire_flight_runs_along_the_ground_unless_the_stick_points_up():
    ground = alone("falco", x=-60.0).play(1, pad("B", y=1.0)).play(42, pad(x=1.0))
    assert ground.actions[0] == 355
    assert ground.players.on_ground[0]
    assert ground.players.speed_ground_x[0] == pytest.approx(4.2)
    air = alone("falco", x=-60.0).play(1, pad("B", y=1.0)).play(42, pad(x=0.7, y=0.7))
    assert air.actions[0] == 356
    assert not air.players.on_ground[0]


def test_the_fall_after_fire_flight_lands_in_the_last_frames_of_its_own_landing():
    arena = alone("fox", height=30.0).play(1, pad("B", y=1.0))
    arena.play_until(lambda arena: arena.actions[0] == 358, 120, pad(x=1.0, y=0.0))
    arena.place(0, 0.0, 4.0)
    arena.play_until(lambda arena: arena.actions[0] != 358, 30)
    assert (arena.actions[0], arena.players.action_frame[0]) == (357, 14.0)


@pytest.mark.parametrize(("stick", "part"), [(1.0, 350), (0.0, 351), (-1.0, 351)])
def test_the_second_part_of_a_dancing_blade_follows_the_stick(stick, part):
    arena = alone("marth").play(1, pad("B", x=1.0)).play(11).play(1, pad("A", y=stick))
    assert (arena.actions[0], arena.players.action_frame[0]) == (part, 0.0)


def test_a_dancing_blade_takes_a_press_only_in_time():
    early = alone("marth").play(1, pad("B", x=1.0)).play(3).play(1, pad("B")).play(7).play(1, pad("B"))
    assert early.actions[0] == 349
    late = alone("marth").play(1, pad("B", x=1.0)).play(26).play(1, pad("B"))
    assert late.actions[0] == 349


def test_a_dancing_blade_lifts_once_in_the_air():
    arena = alone("marth", height=80.0).play(1, pad("B", x=1.0))
    assert arena.players.speed_y[0] == pytest.approx(0.94)
    arena.play_until(lambda arena: arena.actions[0] == a.FALL, 40)
    arena.play(1, pad("B", x=1.0))
    assert arena.players.speed_y[0] == pytest.approx(-0.06)


@pytest.mark.parametrize(("stick", "degrees"), [(0.0, 0.0), (0.75, 10.0), (1.0, 20.0)])
def test_the_stick_leans_a_dolphin_slash(stick, degrees):
    arena = alone("marth", height=40.0).play(1, pad("B", y=1.0)).play(4, pad(x=stick)).play(1)
    straight = np.degrees(np.arctan2(0.75685, 14.41555))
    leant = np.degrees(np.arctan2(arena.players.speed_air_x[0], arena.players.speed_y[0]))
    assert leant == pytest.approx(straight + degrees, abs=0.1)


def test_a_dolphin_slash_leaves_the_ground_and_turns():
    arena = alone("marth").play(1, pad("B", y=1.0)).play(5, pad(x=-0.4))
    assert not arena.players.on_ground[0]
    assert arena.players.facing[0] == -1.0


def test_needles_are_stored_one_a_loop_and_thrown_one_after_the_other():
    arena = alone("sheik").play(8, pad("B")).play(36, pad("B"))
    assert arena.memory.stored[0] == 3
    arena.play(1)
    assert arena.actions[0] == 344
    arena.play(12)
    assert arena.memory.stored[0] == 0
    assert arena.memory.lasers[0] == 3


def test_a_trigger_keeps_the_needles():
    arena = alone("sheik").play(30, pad("B")).play(1, pad("B", shoulder=0.5))
    assert arena.actions[0] == 343
    kept = int(arena.memory.stored[0])
    arena.play(30).play(1, pad("B"))
    assert arena.memory.stored[0] == kept > 1


def test_the_stick_says_how_far_a_vanish_goes():
    far = alone("sheik", x=-200.0, height=60.0).play(1, pad("B", y=1.0)).play(35, pad(x=1.0))
    near = alone("sheik", x=-200.0, height=60.0).play(1, pad("B", y=1.0)).play(35, pad(x=0.5))
    assert far.players.speed_air_x[0] == pytest.approx(2.0)
    assert near.players.speed_air_x[0] == pytest.approx(1.5)


class Recorded:
    """What ``place_shots`` reads of a replay."""

    class Seat:
        def __init__(self, port):
            self.port = port

    def __init__(self, items, ports=(0, 3)):
        self.items, self.seats = items, tuple(self.Seat(port) for port in ports)


def test_recorded_shots_fly_on_in_the_memory_of_who_fired_them():
    arena = Arena("fox", "sheik")
    memory = np.concatenate([arena.arrays[2]] * 2).reshape(2, 2)
    items = np.zeros(3, ITEM)
    items["t"], items["owner"], items["type"] = 1, (0, 3, 3), (54, 79, 80)  # a laser, a needle in flight, one in hand
    items["x"], items["vx"], items["timer"] = 12.0, (7.0, 4.0, 0.0), 30.0
    place_shots(Recorded(items), memory, arena.tables)
    assert memory["lasers"].tolist() == [[0, 0], [1, 1]]
    assert memory["laser_speed_x"][1, :, 0].tolist() == [7.0, 4.0]
    assert memory["laser_life"][1, :, 0].tolist() == [30.0, 30.0]


SWING, CANCELLED, PUNCH = 370, 371, 372  # of Donkey Kong's giant punch on the ground


def test_a_charge_goes_on_until_b_ends_it():
    arena = alone("dk").play(1, pad("B")).play(60)
    assert arena.actions[0] == SWING
    assert arena.play(1, pad("B")).actions[0] == PUNCH


def test_a_trigger_cancels_a_charge_at_the_end_of_a_swing():
    arena = alone("dk").play(1, pad("B"))
    frames_in(arena, range(SWING))
    arena.play(3).play(1, pad("R"))
    assert arena.actions[0] == SWING
    left = frames_in(arena, [SWING])
    assert arena.actions[0] == CANCELLED
    later = alone("dk").play(1, pad("B"))
    frames_in(later, range(SWING))
    later.play(7).play(1, pad("R"))
    assert frames_in(later, [SWING]) == left - 4
