"""Special moves of Mario, Ganondorf and Pikachu."""

import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena, mirrored, pad

FIREBALL, FIREBALL_AIR, TORNADO, TORNADO_AIR = 343, 344, 349, 350
JOLT, JOLT_AIR = 341, 342
BASH, BASH_CHARGE, BASH_LANDING, BASH_LAUNCH, BASH_FLIGHT, BASH_END = 343, 344, 346, 347, 350, 351
BASH_AIR, BASH_AIR_CHARGE = 348, 349
THUNDER, THUNDER_WAIT, THUNDER_BLAST, THUNDER_END = 359, 360, 361, 362
THUNDER_AIR, THUNDER_AIR_WAIT, THUNDER_AIR_BLAST, THUNDER_AIR_END = 363, 364, 365, 366
DRAGON, DRAGON_HIT, DRAGON_AIR, DRAGON_AIR_HIT = 349, 350, 351, 352
FOOT, FOOT_END, FOOT_AIR, FOOT_LANDING = 357, 358, 359, 360


def standing(character, distance=60.0, stage="final_destination"):
    """Seat 0 in the middle, looking right; seat 1 ``distance`` units in front."""
    arena = Arena(character, "mewtwo", stage).place(1, distance).place(0, 0.0)
    arena.players.facing[0] = 1.0
    return arena


def aloft(character, y=60.0, distance=60.0):
    return standing(character, distance).place(0, 0.0, y, facing=1.0, grounded=False)


def until_hurt(arena, limit=120):
    """Frames until the percent of seat 1 rises, and by how much it did."""
    return arena.play_until(lambda arena: arena.players.percent[1] > 0.0, limit), float(arena.players.percent[1])


@pytest.mark.parametrize(("make", "action"), [(standing, FIREBALL), (aloft, FIREBALL_AIR)])
def test_a_fireball_is_thrown_on_its_14th_frame_once(make, action):
    arena = make("mario").play(1, pad("B")).play(12)
    assert (arena.actions[0], int(arena.memory.lasers[0])) == (action, 0)
    arena.play(1)
    assert int(arena.memory.lasers[0]) == 1
    arena.play_until(lambda arena: arena.actions[0] != action, 60)
    assert arena.actions[0] in (a.WAIT, a.FALL)
    assert int(arena.memory.lasers[0]) <= 1


def test_a_fireball_falls_bounces_lower_and_goes_out():
    arena = standing("mario").place(1, -60.0).play(1, pad("B")).play(14)
    heights = []
    while arena.memory.lasers[0]:
        heights.append(float(arena.memory.laser_y[0][0]))
        arena.play(1)
    assert min(heights) >= 0.0
    bounces = [i for i in range(1, len(heights) - 1) if heights[i - 1] > heights[i] < heights[i + 1]]
    tops = [max(heights[i:j]) for i, j in zip(bounces, [*bounces[1:], None], strict=True)]
    assert bounces
    assert tops == sorted(tops, reverse=True)
    assert len(heights) <= 75


def test_a_fireball_hurts_and_can_be_blocked():
    arena = standing("mario", 30.0).play(1, pad("B"))
    assert until_hurt(arena)[1] == 6.0
    arena = standing("mario", 30.0).play(1, pad("B"), pad(shoulder=1.0))
    arena.play_until(lambda arena: arena.actions[1] == a.GUARD_STUN, 60, second=pad(shoulder=1.0))
    assert (arena.players.percent[1], int(arena.memory.lasers[0])) == (0.0, 0)


def test_a_tornado_hops_off_the_ground_and_lands_in_it():
    arena = standing("mario").play(1, pad("B", y=-1.0)).play(1)
    assert (arena.actions[0], int(arena.players.on_ground[0])) == (TORNADO_AIR, 0)
    arena.play_until(lambda arena: arena.players.on_ground[0], 12)
    assert arena.actions[0] == TORNADO
    arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 80)


def test_a_tornado_rises_with_presses_once_before_a_landing():
    arena = aloft("mario", 40.0).play(1, pad("B", y=-1.0))
    assert arena.players.speed_y[0] == pytest.approx(0.405)
    arena.play(8)
    assert arena.players.speed_y[0] == pytest.approx(0.405 - 8 * 0.095)
    arena.play(1, pad("B"))
    assert arena.players.speed_y[0] == pytest.approx(0.405 - 8 * 0.095 + 1.2 - 0.095)
    for _ in range(10):
        arena.play(1).play(1, pad("B"))
    assert arena.players.speed_y[0] == pytest.approx(1.305)
    arena.play_until(lambda arena: arena.actions[0] == a.FALL, 80)
    arena.play(1, pad("B", y=-1.0)).play(8)
    speed = float(arena.players.speed_y[0])
    assert arena.play(1, pad("B")).players.speed_y[0] < speed


def test_a_tornado_hits_many_times():
    arena = standing("mario", 5.0).play(1, pad("B", y=-1.0))
    assert until_hurt(arena)[1] == 2.0
    arena.play(60)
    assert arena.players.percent[1] >= 4.0


def test_a_gerudo_dragon_runs_into_the_opponent_and_lifts_it():
    arena = standing("ganondorf", 40.0).play(1, pad("B", x=1.0)).play(14)
    assert arena.actions[0] == DRAGON
    arena.play_until(lambda arena: arena.actions[0] == DRAGON_HIT, 30)
    assert until_hurt(arena, 10)[1] == 17.0
    assert arena.players.speed_attack_y[1] > 0.0
    assert standing("ganondorf", -60.0).play(1, pad("B", x=1.0)).play(80).actions[0] == a.WAIT


def test_a_gerudo_dragon_in_the_air_ends_helpless_and_hits():
    arena = aloft("ganondorf", 150.0).play(1, pad("B", x=1.0))
    assert arena.actions[0] == DRAGON_AIR
    arena.play_until(lambda arena: arena.actions[0] != DRAGON_AIR, 100)
    assert arena.actions[0] == a.FALL_SPECIAL


def test_a_gerudo_dragon_in_the_air_hits_in_the_air():
    arena = aloft("ganondorf", 60.0).place(1, 20.0, 75.0, grounded=False).play(1, pad("B", x=1.0))
    arena.play_until(lambda arena: arena.actions[0] == DRAGON_AIR_HIT, 40)
    assert until_hurt(arena, 10)[1] == 16.0


def test_a_wizards_foot_slides_along_the_ground_and_hits_from_its_14th_frame():
    arena = standing("ganondorf", 45.0).play(1, pad("B", y=-1.0)).play(10)
    assert (arena.actions[0], arena.players.x[0]) == (FOOT, 0.0)
    arena.play(1)
    assert arena.players.x[0] == pytest.approx(2.2345)
    assert until_hurt(arena)[1] == 15.0
    arena.play_until(lambda arena: arena.actions[0] == FOOT_END, 60)
    arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 60)


def test_a_wizards_foot_in_the_air_dives_and_shakes_the_ground():
    arena = aloft("ganondorf", 60.0).play(1, pad("B", y=-1.0)).play(16)
    assert (arena.actions[0], arena.players.action_frame[0]) == (FOOT_AIR, 17.0)
    assert arena.players.speed_y[0] < -3.0
    arena.play_until(lambda arena: arena.players.on_ground[0], 40)
    assert arena.actions[0] == FOOT_LANDING
    arena.place(1, float(arena.players.x[0]) + 10.0)
    assert until_hurt(arena, 5)[1] == 12.0


@pytest.mark.parametrize(("make", "action"), [(standing, JOLT), (aloft, JOLT_AIR)])
def test_a_thunder_jolt_is_fired_on_its_18th_frame(make, action):
    arena = make("pikachu").play(1, pad("B")).play(16)
    assert (arena.actions[0], int(arena.memory.lasers[0])) == (action, 0)
    assert int(arena.play(1).memory.lasers[0]) == 1


def test_a_thunder_jolt_runs_along_the_floor_to_its_end():
    arena = standing("pikachu").place(1, -60.0).place(0, 0.0, 0.0, 1.0).play(1, pad("B")).play(20)
    assert (arena.memory.laser_y[0][0], arena.memory.laser_speed_x[0][0]) == (0.0, 2.0)
    arena.play_until(lambda arena: not arena.memory.lasers[0], 60)
    assert arena.memory.laser_x[0][0] == pytest.approx(86.0, abs=3.0)


def test_a_thunder_jolt_hurts_more_on_the_ground():
    assert until_hurt(standing("pikachu", 40.0).play(1, pad("B")))[1] == pytest.approx(7.0)
    arena = aloft("pikachu", 60.0).place(1, 15.0, 35.0, grounded=False).play(1, pad("B"))
    arena.play_until(lambda arena: arena.memory.lasers[0], 30)
    arena.place(1, float(arena.memory.laser_x[0][0]) + 6.0, float(arena.memory.laser_y[0][0]) - 18.0, grounded=False)
    assert until_hurt(arena)[1] == pytest.approx(6.0)


def held(arena, frames, x=0.7):
    """Seat 0 keeps B down, with the stick pushed slowly, so that the charge begins at nothing."""
    return arena.play(4, pad(x=0.4)).play(frames, pad("B", x=x))


def in_flight(arena):
    return arena.play_until(lambda arena: arena.actions[0] == BASH_FLIGHT, 150, pad("B"))


@pytest.mark.parametrize(("make", "action"), [(standing, BASH), (aloft, BASH_AIR)])
def test_a_skull_bash_hits_from_its_18th_frame_on_without_a_charge(make, action):
    arena = held(make("pikachu", distance=-60.0), 1)
    assert arena.actions[0] == action
    arena.play(12)
    assert arena.actions[0] == action
    arena.play(1)
    assert (arena.actions[0], arena.players.action_frame[0]) == (BASH_LAUNCH if make is standing else 352, 0.0)
    arena.play(4)
    assert (arena.actions[0], arena.players.action_frame[0]) == (BASH_FLIGHT, 4.0)
    assert int(arena.players.on_ground[0]) == 0
    assert arena.players.speed_air_x[0] == pytest.approx(1.6)
    assert arena.players.speed_y[0] == pytest.approx(0.39)


def test_a_skull_bash_rises_as_in_the_game_after_42_frames_of_charge():
    arena = held(standing("pikachu", distance=-60.0), 13 + 42).play(5)
    assert arena.actions[0] == BASH_FLIGHT
    speeds = {}
    while arena.actions[0] == BASH_FLIGHT:
        speeds[int(arena.players.action_frame[0])] = float(arena.players.speed_y[0])
        arena.play(1)
    game = {4: 0.5766667, 5: 0.5666667, 23: 0.3866667, 24: 0.2866667, 26: 0.0866667}  # framedata.csv of libmelee
    assert {frame: speeds[frame] for frame in game} == pytest.approx(game, abs=1e-6)


def test_a_full_charge_launches_at_once_and_twice_as_fast():
    arena = held(standing("pikachu", distance=-60.0), 1)
    assert in_flight(arena) == 12 + 1 + 91 + 4
    assert arena.players.speed_air_x[0] == pytest.approx(3.2)
    assert arena.players.speed_y[0] == pytest.approx(0.79)
    arena = standing("pikachu", distance=-60.0).play(1, pad("B", x=1.0)).play(17)  # a flick
    assert arena.players.speed_air_x[0] == pytest.approx(1.6 + 1.6 * 20 / 90)


@pytest.mark.parametrize(("frames", "damage"), [(1, 4.0), (13 + 36, 14.0), (120, 29.0)])
def test_a_skull_bash_hurts_by_its_charge_and_stops(frames, damage):
    arena = held(standing("pikachu", distance=25.0), frames)
    assert until_hurt(arena)[1] == pytest.approx(damage)
    arena.play_until(lambda arena: arena.actions[0] != BASH_FLIGHT, 30)
    assert arena.actions[0] in (BASH_END, BASH_LANDING)
    assert arena.players.speed_air_x[0] == 0.0


def test_a_skull_bash_stops_at_a_shield_and_at_the_edge_of_the_stage():
    arena = held(standing("pikachu", distance=25.0), 1).play(1, second=pad(shoulder=1.0))
    arena.play_until(lambda arena: arena.actions[1] == a.GUARD_STUN, 60, second=pad(shoulder=1.0))
    arena.play_until(lambda arena: arena.actions[0] in (BASH_END, BASH_LANDING), 30, second=pad(shoulder=1.0))
    assert arena.players.percent[1] == 0.0
    arena = standing("pikachu", distance=60.0).place(0, -100.0, -20.0, facing=1.0, grounded=False)
    held(arena, 1).place(0, -100.0, -20.0, facing=1.0)
    arena.play_until(lambda arena: arena.actions[0] == BASH_FLIGHT, 30)
    arena.play_until(lambda arena: arena.actions[0] == BASH_END, 30)
    assert arena.players.action_frame[0] == 0.0
    assert arena.players.x[0] < -60.0


def test_a_skull_bash_lands_with_lag_and_does_not_end_helpless():
    arena = held(standing("pikachu", distance=-80.0).place(0, -60.0), 1)
    arena.play_until(lambda arena: arena.actions[0] == BASH_LANDING, 120)
    assert arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 60) == 45
    arena = held(aloft("pikachu", 100.0, distance=-60.0), 1)
    arena.play_until(lambda arena: arena.actions[0] not in range(BASH, 353), 120)
    assert arena.actions[0] == a.FALL


def test_a_charge_goes_on_over_an_edge_and_through_a_landing():
    arena = held(aloft("pikachu", 3.0, distance=-60.0), 40)
    assert (arena.actions[0], int(arena.players.on_ground[0])) == (BASH_CHARGE, 1)
    assert arena.memory.move_value[0] == 26.0
    arena.place(0, 85.5).players.speed_ground_x[0] = 1.0
    arena.play(1, pad("B"))
    assert (arena.actions[0], arena.memory.move_value[0]) == (BASH_AIR_CHARGE, 27.0)


@pytest.mark.parametrize(("make", "action"), [(standing, THUNDER), (aloft, THUNDER_AIR)])
def test_a_thunder_calls_a_bolt_of_four_pieces_on_its_19th_frame_once(make, action):
    arena = make("pikachu", distance=-60.0).play(1, pad("B", y=-1.0)).play(17)
    assert (arena.actions[0], int(arena.memory.lasers[0])) == (action + 1, 0)
    y = float(arena.players.y[0]) if make is standing else None
    arena.play(1)
    assert (arena.players.action_frame[0], int(arena.memory.lasers[0])) == (1.0, 4)
    if y is not None:
        assert arena.memory.laser_y[0][0] == y + 150.0
    arena.play_until(lambda arena: not arena.memory.lasers[0], 120)
    assert arena.actions[0] not in (action, action + 1)


def test_a_bolt_that_meets_a_platform_ends_there_as_in_the_game():
    """Frames of the replay puff_pikachu: the first piece is there on frame 18, the wait ends on frame 44."""
    arena = standing("pikachu", -40.0, "battlefield").place(0, 22.769).play(1, pad("B", y=-1.0)).play(18)
    places = []
    while arena.actions[0] == THUNDER_WAIT:
        places.append(float(arena.memory.laser_y[0][0]) if arena.memory.laser_life[0][0] > 0.0 else None)
        arena.play(1)
    assert places == [*(150.0 - 5.0 * i for i in range(25)), None]
    assert (arena.actions[0], arena.players.action_frame[0]) == (THUNDER_END, 0.0)
    assert arena.memory.laser_y[0][1] == 60.0
    assert arena.memory.laser_life[0][1] == 7.0
    assert arena.play_until(lambda arena: not arena.memory.lasers[0], 60) == 743 - 720
    assert arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 60) == 756 - 743


def test_a_bolt_that_meets_pikachu_makes_a_blast():
    arena = standing("pikachu", 14.0).play(1, pad("B", y=-1.0))
    assert arena.play_until(lambda arena: arena.actions[0] == THUNDER_BLAST, 60) == 17 + 1 + 21
    assert until_hurt(arena, 10)[1] == 17.0
    arena.play_until(lambda arena: arena.actions[0] == THUNDER_END, 40)
    assert arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 60) == 36


def test_a_blast_in_the_air_lifts_pikachu_and_ends_in_a_fall():
    arena = aloft("pikachu", 120.0, distance=-60.0).play(1, pad("B", y=-1.0))
    arena.play_until(lambda arena: arena.memory.lasers[0], 60)
    assert arena.memory.laser_y[0].max() > 188.0  # over the upper blast zone
    arena.play(10).place(0, 0.0, 90.0).players.speed_y[0] = 0.0
    arena.play_until(lambda arena: arena.actions[0] == THUNDER_AIR_BLAST, 60)
    assert arena.players.speed_y[0] == pytest.approx(0.644)
    arena.play(9)
    assert (arena.actions[0], arena.players.speed_y[0]) == (THUNDER_AIR_BLAST, pytest.approx(0.5))
    arena.play(1)
    assert arena.actions[0] == THUNDER_AIR_END


def test_a_bolt_that_misses_ends_the_wait_with_its_life():
    arena = aloft("pikachu", 60.0, distance=-60.0).place(0, -120.0, 60.0).play(1, pad("B", y=-1.0))
    arena.play_until(lambda arena: arena.memory.lasers[0], 60)
    for _ in range(61):
        arena.place(0, -160.0, 60.0).play(1)
        assert arena.actions[0] == THUNDER_AIR_WAIT
    arena.place(0, -160.0, 60.0).play(1)
    assert arena.actions[0] == THUNDER_AIR_END


def test_a_bolt_falls_on_through_the_opponent_and_a_shield():
    arena = standing("pikachu", -60.0).play(1, pad("B", y=-1.0))
    arena.play_until(lambda arena: arena.memory.lasers[0], 60)
    arena.place(1, 1.0, 70.0, grounded=False)
    assert until_hurt(arena)[1] == 10.0
    assert arena.players.hitlag[1] > 0.0
    assert int(arena.memory.lasers[0]) == 4
    arena.play_until(lambda arena: arena.actions[0] == THUNDER_BLAST, 60)
    arena = standing("pikachu", -60.0).play(1, pad("B", y=-1.0))
    arena.play(15).place(1, 8.0).play(2, second=pad(shoulder=1.0))
    arena.play_until(lambda arena: arena.actions[1] == a.GUARD_STUN, 60, second=pad(shoulder=1.0))
    assert int(arena.memory.lasers[0]) == 4


@pytest.mark.parametrize("move", [{"x": 1.0}, {"y": -1.0}])
@pytest.mark.parametrize("y", [0.0, 60.0])
def test_side_and_down_specials_of_pikachu_are_the_same_for_both_seats(move, y):
    """Both at once, face to face, then the same with seats swapped and mirrored: each mirrors the other exactly."""
    arena = Arena("pikachu", "pikachu")
    for seat, x in ((0, -15.0), (1, 15.0)):
        arena.place(seat, x, y, facing=-x / 15.0, grounded=y == 0.0)
    first = pad("B", **move)
    arena.play(1, first, mirrored(first))
    for _ in range(140):
        arena.play(1)
        for name, sign in (("x", -1.0), ("y", 1.0), ("speed_air_x", -1.0), ("speed_y", 1.0), ("percent", 1.0)):
            values = arena.players[name]
            assert values[1] == sign * values[0]
        assert arena.actions[0] == arena.actions[1]
