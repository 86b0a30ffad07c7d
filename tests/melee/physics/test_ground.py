import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena, pad


def test_players_start_able_to_act_facing_each_other():
    arena = Arena()
    assert arena.actions == [a.WAIT, a.WAIT]
    assert arena.players.x.tolist() == [-60, 60]
    assert arena.players.facing.tolist() == [1, -1]
    assert arena.players.stocks.tolist() == [4, 4]
    assert arena.play(1, pad("A"), pad("A")).actions == [a.JAB_1, a.JAB_1]


def test_spawn_offset_moves_both_outwards_but_not_off_their_platform():
    assert Arena(offset=5.0).players.x.tolist() == [-65, 65]
    arena = Arena(stage="battlefield", offset=100.0)
    assert arena.players.x.tolist() == [-57.6, 57.6]
    assert arena.players.y.tolist() == [27.2, 27.2]
    assert arena.play(30).actions == [a.WAIT, a.WAIT]


def test_dash_matches_a_real_replay():
    """Mewtwo on Final Destination, replay mewtwo_fox_FD, frames -39 to -29: stick .875 to the right, then back."""
    arena = Arena().place(0, -60.0)
    seen = []
    for stick in [0.875] * 6 + [-1.0] * 4:
        arena.play(1, pad(x=stick))
        seen.append(
            (arena.actions[0], round(float(arena.players.x[0]), 3), round(float(arena.players.speed_ground_x[0]), 3))
        )
    assert seen == [
        (a.DASH, -60.0, 1.4),
        (a.DASH, -58.64, 1.36),
        (a.DASH, -57.32, 1.32),
        (a.DASH, -56.04, 1.28),
        (a.DASH, -54.8, 1.24),
        (a.DASH, -53.575, 1.225),
        (a.TURN, -53.309, 0.266),
        (a.DASH, -53.042, -1.134),
        (a.DASH, -54.276, -1.234),
        (a.DASH, -55.61, -1.334),
    ]


def test_walk_matches_a_real_replay():
    """Fox with the stick at -0.3, the same replay."""
    arena = Arena()
    speeds = []
    for _ in range(5):
        arena.play(1, second=pad(x=-0.3))
        speeds.append(round(float(arena.players.speed_ground_x[1]), 3))
    assert arena.actions[1] == a.WALK_SLOW
    assert speeds == pytest.approx([-0.16, -0.213, -0.258, -0.295, -0.326], abs=1e-3)


def test_a_slow_tilt_walks_a_flick_dashes_and_a_held_stick_runs():
    assert Arena().play(1, pad(x=0.5)).actions[0] == a.WALK_SLOW
    arena = Arena().play(3, pad(x=0.5))
    assert arena.play(1, pad(x=1.0)).actions[0] in range(a.WALK_SLOW, a.WALK_FAST + 1)  # too late for a flick
    arena = Arena()
    arena.play_until(lambda arena: arena.actions[0] == a.RUN, 30, pad(x=1.0))
    assert arena.players.speed_ground_x[0] == pytest.approx(1.4)
    assert arena.play(1).actions[0] == a.RUN_BRAKE
    arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 60)


def test_turning_on_the_spot_takes_until_the_sixth_frame():
    arena = Arena().play(5, pad(x=-0.4))
    assert (arena.actions[0], arena.players.facing[0]) == (a.TURN, 1)
    arena.play(1, pad(x=-0.4))
    assert (arena.actions[0], arena.players.facing[0]) == (a.TURN, -1)
    arena.play_until(lambda arena: arena.actions[0] == a.WALK_SLOW, 20, pad(x=-0.4))


def test_a_run_can_be_turned():
    arena = Arena()
    arena.play_until(lambda arena: arena.actions[0] == a.RUN, 30, pad(x=1.0))
    assert arena.play(1, pad(x=-1.0)).actions[0] == a.TURN_RUN
    arena.play_until(lambda arena: arena.actions[0] == a.RUN, 60, pad(x=-1.0))
    assert arena.players.facing[0] == -1


def test_crouching_and_rising():
    arena = Arena()
    assert arena.play(1, pad(y=-1.0)).actions[0] == a.SQUAT
    assert arena.play(10, pad(y=-1.0)).actions[0] == a.SQUAT_WAIT
    assert arena.play(1).actions[0] == a.SQUAT_RISE
    arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 20)


def test_dashing_and_rolling_stops_or_leaves_the_edge():
    arena = Arena().place(0, 84.0).place(1, -60.0)
    arena.play_until(lambda arena: not arena.players.on_ground[0], 20, pad(x=1.0))
    assert arena.actions[0] == a.FALL
    arena = Arena().place(0, 84.0).place(1, -60.0)
    arena.play(1, pad("R")).play(1, pad("R", x=1.0))
    assert arena.actions[0] == a.ROLL_F
    arena.play(30)
    assert arena.players.on_ground[0]
    assert arena.players.x[0] == pytest.approx(85.5657)


def test_taunt():
    arena = Arena().play(1, pad("D_UP"), pad("D_UP"))
    assert arena.actions == [a.TAUNT_RIGHT, a.TAUNT_LEFT]
    arena.play_until(lambda arena: arena.actions == [a.WAIT, a.WAIT], 130)


def test_players_push_each_other_apart():
    arena = Arena().place(0, 0.0).place(1, 2.0)
    arena.play(1)
    assert arena.players.x.tolist() == pytest.approx([-0.3, 2.3])
    arena.play(30)
    assert arena.players.x[1] - arena.players.x[0] == pytest.approx(6.6, abs=0.6)


def test_a_dodging_player_pushes_without_being_pushed():
    arena = Arena("fox", "fox").place(0, 0.0).place(1, 2.0)
    arena.play(1, pad("L"))
    assert arena.play(1, pad("L", y=-1.0)).actions[0] == a.SPOT_DODGE
    mine, other = arena.players.x.tolist()
    arena.play(1)
    assert arena.players.x.tolist() == pytest.approx([mine, other + 0.3])


def test_a_frozen_player_pushes_and_stays():
    arena = Arena("fox", "fox").place(0, 0.0).place(1, 2.0)
    arena.players.hitlag[0] = 5.0
    arena.play(1)
    assert arena.players.x.tolist() == pytest.approx([0.0, 2.3])


def test_a_lying_player_takes_room():
    arena = Arena("fox", "fox").place(0, 0.0).place(1, 2.0)
    arena.players.action[0], arena.players.action_frame[0] = a.DOWN_WAIT, 1.0
    arena.play(1)
    assert arena.players.x.tolist() == pytest.approx([-0.3, 2.3])


@pytest.mark.parametrize(("gap", "pushed"), [(6.79, 0.3), (6.81, 0.0)])
def test_players_push_across_the_sum_of_their_widths(gap, pushed):
    arena = Arena("cptfalcon", "fox").place(0, 0.0).place(1, gap)
    arena.play(1)
    assert arena.players.x.tolist() == pytest.approx([-pushed, gap + pushed])


def test_players_on_different_surfaces_do_not_push():
    arena = Arena("fox", "fox", "battlefield").place(0, 40.0).surface(0, 2).place(1, 41.0).surface(1, 0)
    arena.players.y[1] = arena.players.y[0] - 0.5  # as near as no stage has them
    arena.memory.surface[1] = 0
    before = arena.players.x.tolist()
    arena.play(1)
    assert arena.players.x.tolist() == pytest.approx(before)


def test_rising_from_a_crouch_only_walks():
    for x, action in ((-1.0, a.SQUAT_RISE), (1.0, a.WALK_SLOW)):
        arena = Arena().play(12, pad(y=-1.0)).play(1)
        assert arena.actions[0] == a.SQUAT_RISE
        assert arena.play(1, pad(x=x)).actions[0] == action


def test_a_crouch_dashes_but_does_not_grab_or_use_a_neutral_special():
    for inputs, action in ((pad(x=1.0), a.DASH), (pad("B"), a.SQUAT_RISE), (pad("Z", y=-1.0), a.DTILT)):
        assert Arena("fox").play(12, pad(y=-1.0)).play(1, inputs).actions[0] == action


@pytest.mark.parametrize(
    ("frames", "inputs", "action"),
    [
        (2, pad("A", x=1.0), a.FSMASH),
        (2, pad("A"), a.DASH),
        (2, pad(x=1.0, c_x=-1.0), a.FSMASH),
        (2, pad("R", x=1.0), a.ROLL_F),
        (3, pad("R", x=1.0), a.DASH),
        (3, pad(x=-1.0), a.DASH),
        (4, pad(x=-1.0), a.TURN),
        (4, pad("A", x=1.0), a.DASH_ATTACK),
        (4, pad(x=1.0, c_x=-1.0), a.DASH),
        (4, pad("R", x=1.0), a.GUARD_REFLECT),
        (2, pad("Z", x=1.0), a.CATCH_DASH),
        (4, pad("B", x=0.5), a.DASH),
    ],
)
def test_what_a_dash_allows(frames, inputs, action):
    """For its first 4 frames only smashes, grabs, jumps and, up to the third, a roll; never a neutral special."""
    assert Arena("fox").play(frames, pad(x=1.0)).play(1, inputs).actions[0] == action


def test_a_dash_out_of_a_turn_attacks_at_once():
    arena = Arena().play(2, pad(x=-1.0))
    assert arena.actions[0] == a.DASH
    assert arena.play(1, pad("A", x=-1.0)).actions[0] == a.DASH_ATTACK


def test_a_trigger_soon_after_a_dash_attack_grabs():
    for wait, action in ((0, a.CATCH_DASH), (2, a.CATCH_DASH), (3, a.DASH_ATTACK)):
        arena = Arena().play(5, pad(x=1.0)).play(1, pad("A")).play(wait)
        assert arena.play(1, pad("Z")).actions[0] == action


@pytest.mark.parametrize(("first", "action"), [(-0.5, a.DASH), (-0.9, a.TURN)])
def test_a_flick_on_the_second_frame_of_a_turn_dashes_if_the_stick_flew_across(first, action):
    """The Universal Controller Fix; here from a stick that was a little to the same side before."""
    arena = Arena().play(1, pad(x=0.0 if first > -0.6 else -0.25)).play(1, pad(x=-0.5))
    assert arena.play(1, pad(x=-1.0)).actions[0] == action


def test_a_flick_during_a_slow_turn_dashes_as_it_ends():
    arena = Arena().play(3, pad(x=-0.5)).play(1)
    assert [arena.play(1, pad(x=-1.0)).actions[0] for _ in range(3)] == [a.TURN, a.DASH, a.DASH]


def test_a_walk_stops_before_it_turns():
    arena = Arena().play(5, pad(x=0.5))
    assert [arena.play(1, pad(x=-0.5)).actions[0] for _ in range(2)] == [a.WAIT, a.TURN]


def test_a_flick_drops_through_a_platform_even_if_the_stick_lets_go():
    arena = Arena(stage="battlefield", offset=100.0).play(2, pad(y=-1.0))
    assert [arena.play(1).actions[0] for _ in range(2)] == [a.SQUAT, a.PLATFORM_DROP]


def test_a_platform_holds_a_player_at_its_edge_who_faces_it_and_does_not_push():
    for x, action in ((0.5, a.TEETER), (0.78, a.FALL)):
        arena = Arena(stage="battlefield", offset=100.0)
        arena.play_until(lambda arena: arena.actions[0] in (a.TEETER, a.FALL), 200, pad(x=x))
        assert arena.actions[0] == action


def test_a_stick_beyond_the_gate_is_clamped_in_whole_steps():
    arena = Arena().play(1, pad(x=1.0, y=1.0))
    assert (arena.memory.stick_x[0], arena.memory.stick_y[0]) == (56 / 80, 56 / 80)


def test_a_c_stick_smash_needs_more_than_an_aerial():
    assert Arena().play(1, pad(c_x=0.75)).actions[0] == a.WAIT
    assert Arena().play(1, pad(c_x=0.875)).actions[0] == a.FSMASH
    assert Arena().play(1, pad(c_y=0.625)).actions[0] == a.WAIT
    assert Arena().play(1, pad(c_y=0.75)).actions[0] == a.USMASH


def test_forward_tilts_are_aimed_where_the_character_has_them():
    def tilt(character, y):
        return Arena(character).play(3, pad(x=0.5, y=y)).play(1, pad("A", x=0.5, y=y)).actions[0]

    assert [tilt("fox", y) for y in (0.375, 0.0, -0.375)] == [a.FTILT_HIGH, a.FTILT, a.FTILT_LOW]
    assert tilt("marth", 0.375) == a.FTILT


def test_a_dash_that_is_faster_than_a_run_jumps_with_the_speed_of_a_run():
    arena = Arena("falco").play(3, pad(x=1.0))
    assert arena.players.speed_ground_x[0] > 1.6
    arena.play(1, pad("X", x=1.0))
    assert arena.players.speed_ground_x[0] == pytest.approx(1.5 - 2 * 0.08)


def test_a_dash_jumps_by_a_stick_that_is_not_quite_up():
    assert Arena().play(4, pad(x=1.0)).play(1, pad(x=0.8, y=0.6)).actions[0] == a.JUMP_SQUAT
    assert Arena().play(1, pad(y=0.6)).actions[0] == a.WAIT


def test_a_jump_comes_before_the_dash_of_a_turn():
    arena = Arena().play(1, pad(x=-1.0)).play(1, pad("X", x=-1.0))
    assert (arena.actions[0], arena.players.facing[0]) == (a.JUMP_SQUAT, -1)


def test_a_run_out_of_a_turn_goes_on_for_a_moment():
    arena = Arena()
    arena.play_until(lambda arena: arena.actions[0] == a.RUN, 30, pad(x=1.0))
    arena.play(1, pad(x=-1.0))
    arena.play_until(lambda arena: arena.actions[0] == a.RUN, 60, pad(x=-1.0))
    assert arena.play_until(lambda arena: arena.actions[0] == a.RUN_BRAKE, 30) == 10


def test_grabs_slide_on_plain_friction():
    arena = Arena("sheik").place(1, 80.0).play(6, pad(x=1.0)).play(1, pad("X"))
    before = float(arena.players.speed_ground_x[0])
    arena.play(1, pad("Z"))
    assert arena.actions[0] == a.CATCH
    assert before - arena.players.speed_ground_x[0] == pytest.approx(0.08)


def test_an_attack_stops_at_an_edge_behind_it():
    arena = Arena(stage="battlefield", offset=100.0).place(0, -57.3).play(1, pad("A"))
    arena.players.speed_ground_x[0] = -2.0
    arena.play(3)
    assert (arena.actions[0], arena.players.x[0], arena.players.y[0]) == (a.JAB_1, -57.6, 27.2)
    assert arena.players.speed_ground_x[0] < 0.0


def test_a_run_gains_less_the_nearer_it_is_to_its_speed():
    """Falco, stick at 0.738, a frame of a real replay: 0.7802 becomes 0.7912."""
    arena = Arena("falco").play(15, pad(x=1.0))
    assert arena.actions[0] == a.RUN
    arena.players.speed_ground_x[0] = 0.7802
    assert arena.play(1, pad(x=0.7375)).players.speed_ground_x[0] == pytest.approx(0.7912, abs=1e-4)
