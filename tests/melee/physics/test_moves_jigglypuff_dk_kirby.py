"""Special moves with rules of their own: Jigglypuff's, Donkey Kong's and Kirby's."""

import pytest

from selfplay_melee import actions as a
from tests.melee.arena import NEUTRAL, Arena, pad

B, UP_B = pad("B"), pad("B", y=1.0)
CHARGE, FULL, ROLL, TURN, END, REBOUND = 348, 349, 350, 351, 352, 362
AIR_ROLL, AIR_END = 358, 360
SING, AIR_SING = 367, 368
HEADBUTT, AIR_HEADBUTT, SPIN, AIR_SPIN = 379, 380, 381, 382
HAMMER, AIR_HAMMER, CUTTER, RISE, CUTTER_FALL, CUTTER_LANDING = 383, 384, 385, 390, 391, 388
STONE_START, STONE, STONE_END, AIR_STONE_START, AIR_STONE = 393, 394, 395, 396, 397
INHALE, PULL, EAT, FULL_MOUTH, SWALLOW, SPIT = 353, 356, 358, 359, 367, 369


def face_off(character, gap, other="fox", height=None):
    """Seat 0 looks right at seat 1, which stands ``gap`` units away; with a height seat 0 floats."""
    arena = Arena(character, other).place(1, gap / 2, facing=-1.0)
    arena.place(0, -gap / 2, height or 0.0, grounded=height is None)
    arena.players.facing[0] = 1.0
    return arena


def state(arena, seat=0):
    return arena.actions[seat], float(arena.players.action_frame[seat])


def until(arena, action, limit=200, first=NEUTRAL, second=NEUTRAL, seat=0):
    arena.play_until(lambda arena: arena.actions[seat] == action, limit, first, second)
    return arena


def rolling(gap, frames, height=None):
    """A rollout, charged for some frames after its start."""
    arena = face_off("jigglypuff", gap, height=height).play(1, B)
    until(arena, CHARGE if height is None else 356, first=B).play(frames, B).play(1)
    return arena


@pytest.mark.parametrize(("frames", "speed"), [(0, 0.3), (19, 2.01), (60, 4.2)])
def test_a_longer_charge_rolls_faster(frames, speed):
    arena = rolling(160.0, frames) if frames else face_off("jigglypuff", 160.0).play(1, B)
    until(arena, ROLL)
    assert arena.players.speed_ground_x[0] == pytest.approx(speed + (0.09 if frames else 0.0), abs=0.1)


def test_a_rollout_charges_from_its_16th_frame_and_is_full_after_44():
    arena = face_off("jigglypuff", 160.0).play(15, B)
    assert state(arena) == (346, 15.0)
    arena.play(1, B)
    assert arena.actions[0] == CHARGE
    arena.play(43, B)
    assert arena.actions[0] == CHARGE
    arena.play(1, B)
    assert arena.actions[0] == FULL


def test_a_full_rollout_hits_for_18_and_rebounds():
    arena = rolling(100.0, 60)
    until(arena, REBOUND)
    assert arena.players.percent[1] == 18.0
    assert arena.players.speed_air_x[0] == pytest.approx(-0.13 * 4.2)
    assert arena.players.speed_y[0] == pytest.approx(1.6 - 0.07)
    until(arena, a.LANDING_FALL_SPECIAL)
    assert arena.players.on_ground[0]


def test_a_slow_rollout_hurts_nobody():
    arena = rolling(20.0, 10)
    arena.play(60)
    assert arena.players.percent[1] == 0.0


def test_a_rollout_turns_and_then_rolls_the_other_way_at_full_speed():
    arena = rolling(160.0, 30)
    speed = float(arena.players.speed_ground_x[0])
    arena.play(2).play(1, pad(x=-1.0))
    assert (arena.actions[0], arena.players.facing[0]) == (TURN, 1.0)
    assert arena.play_until(lambda arena: arena.actions[0] == ROLL, 60) == 27
    arena.play(1)
    assert arena.players.facing[0] == -1.0
    assert arena.players.speed_ground_x[0] == pytest.approx(-speed)


def test_a_rollout_ends_by_itself_after_90_frames_face_down():
    arena = rolling(160.0, 1)
    arena.place(1, 80.0, 200.0, grounded=False)
    frames = arena.play_until(lambda arena: arena.actions[0] == END, 200)
    assert 90 <= frames <= 90 + 36
    until(arena, a.WAIT)


def roll_in_the_air(x, y, charge, frames):
    """Seat 0 rolls in the air, and its roll ends after some frames."""
    arena = face_off("jigglypuff", 150.0, height=y).place(0, x, y, grounded=False)
    player, memory = arena.players[0], arena.memory[0]
    player.action, player.action_frame, memory.rate, memory.duration = AIR_ROLL, 0.0, 0.0, 1000.0
    memory.move_value, memory.move_count, memory.ledge_lock = charge, frames, 1000.0
    return arena


def test_a_rollout_in_the_air_cannot_turn_and_leaves_her_helpless():
    arena = roll_in_the_air(0.0, 150.0, 50.0, 1).play(5, pad(x=-1.0))
    assert (arena.actions[0], arena.players.facing[0]) == (AIR_ROLL, 1.0)
    assert arena.players.speed_air_x[0] == 0.5
    assert arena.players.speed_y[0] == pytest.approx(-5 * 0.07)
    until(arena, AIR_END, 60)
    until(arena, a.FALL_SPECIAL, 60)
    assert arena.memory.landing_lag[0] == 30.0


def test_a_wall_turns_a_rollout_in_the_air_around():
    arena = roll_in_the_air(-100.0, -20.0, 150.0, 90).play(12)
    assert arena.players.facing[0] == -1.0
    assert arena.memory.move_value[0] == 150.0 * 0.75


@pytest.mark.parametrize(("height", "action"), [(None, SING), (3.0, AIR_SING)])
def test_sing_puts_a_player_on_the_ground_to_sleep(height, action):
    arena = face_off("jigglypuff", 14.0, height=height).play(1, UP_B)
    assert arena.actions[0] == action
    arena.players.percent[1] = 40.0
    if height is None:
        arena.play(26)
        assert arena.actions[1] == a.WAIT
        arena.play(1)
        assert arena.players.action_frame[0] == 28.0
    else:
        until(arena, a.DAMAGE_SONG, 40, seat=1)
        assert arena.players.y[0] < 3.0
    assert (arena.actions[1], arena.players.hitlag[1], arena.players.percent[1]) == (a.DAMAGE_SONG, 0.0, 40.0)
    asleep = arena.play_until(lambda arena: arena.actions[1] == a.DAMAGE_SONG_END, 300)
    assert asleep == 95 + 2 * 40
    assert arena.play_until(lambda arena: arena.actions[1] == a.WAIT, 100) == 60 + 1


def test_buttons_shorten_sleep():
    arena = face_off("jigglypuff", 14.0).play(28, UP_B)
    frames = 0
    while arena.actions[1] != a.DAMAGE_SONG_END:
        arena.play(1, pad(), pad("A") if frames % 4 == 0 else pad())
        frames += 1
    assert frames < 95 / 2


def test_sing_does_not_reach_players_in_the_air_or_behind_a_shield():
    arena = face_off("jigglypuff", 14.0).place(1, 7.0, 4.0, grounded=False)
    arena.play(1, UP_B)
    for _ in range(125):
        arena.place(1, 7.0, 4.0, grounded=False)
        arena.play(1)
        assert arena.actions[1] < a.BURY
    arena = face_off("jigglypuff", 14.0).play(36, UP_B, pad(shoulder=1.0))
    assert arena.actions[1] == a.GUARD


def test_a_headbutt_buries_a_player_who_stands():
    arena = face_off("dk", 16.0).play(1, pad("B", x=1.0))
    arena.play(18)
    assert (state(arena), arena.actions[1]) == ((HEADBUTT, 19.0), a.WAIT)
    arena.play(1)
    assert (arena.actions[1], arena.players.percent[1]) == (a.BURY, 5.0)
    place = float(arena.players.x[1])
    frames = arena.play_until(lambda arena: arena.actions[1] == a.BURY_JUMP, 200)
    assert frames == 99 + 4 + int(0.7 * 5.0)  # the four of hitlag
    assert arena.players.x[1] == place
    until(arena, a.FALL, 20, seat=1)


def test_hits_hurt_a_buried_player_without_moving_it():
    arena = face_off("dk", 16.0).play(20, pad("B", x=1.0))
    arena.play(5).players.action[0] = a.WAIT
    arena.play(1, pad("A", x=0.5)).play(20)
    assert arena.actions[1] == a.BURY_WAIT
    assert arena.players.percent[1] > 5.0
    assert arena.players.speed_attack_x[1] == 0.0


def test_a_headbutt_launches_a_player_in_the_air_down():
    arena = face_off("dk", 16.0, height=60.0).play(20, pad("B", x=1.0))
    assert state(arena) == (AIR_HEADBUTT, 20.0)
    assert arena.players.speed_y[0] == 0.0
    arena.place(1, float(arena.players.x[0]) + 10.0, 60.0, grounded=False).play(1).play(8)
    assert arena.players.percent[1] == 10.0
    assert arena.players.speed_attack_y[1] < 0.0
    until(arena, a.FALL, 60)


def test_donkey_kong_walks_in_a_spin_on_the_ground_and_flies_in_the_air():
    arena = face_off("dk", 150.0).play(1, UP_B).play(40, pad(x=1.0))
    assert state(arena) == (SPIN, 41.0)
    assert arena.players.speed_ground_x[0] == pytest.approx(0.85)
    until(arena, a.WAIT, 60)
    arena = face_off("dk", 150.0, height=3.0).play(1, UP_B)
    assert arena.actions[0] == AIR_SPIN
    assert arena.players.speed_y[0] == pytest.approx(0.668)
    arena.play(49).play(1)
    assert arena.players.speed_y[0] == pytest.approx(0.225, abs=1e-3)
    until(arena, SPIN, 60)


def test_a_spin_on_the_ground_hits_on_its_third_frame():
    arena = face_off("dk", 9.0).play(1, UP_B).play(2)
    assert arena.players.percent[1] == 12.0


def test_a_hammer_hits_on_its_22nd_frame():
    arena = face_off("kirby", 18.0).play(21, pad("B", x=1.0))
    assert (state(arena), arena.players.percent[1]) == ((HAMMER, 21.0), 0.0)
    arena.play(1)
    assert arena.players.percent[1] in (16.0, 23.0)


def test_a_hammer_in_the_air_lifts_once_and_lands_with_lag():
    arena = face_off("kirby", 100.0, height=4.0).play(1, pad("B", x=1.0))
    assert arena.actions[0] == AIR_HAMMER
    assert arena.players.speed_y[0] == pytest.approx(1.5 - 0.08)
    arena.players.action[0] = a.FALL
    arena.play(1, pad(x=0.0)).play(1, pad("B", x=1.0))
    assert arena.players.speed_y[0] < 1.5 - 0.16
    until(arena, a.LANDING_FALL_SPECIAL, 80)
    assert arena.memory.risen[0] == 0


def test_a_cutter_from_the_ground_rises_and_its_landing_sends_a_beam():
    arena = face_off("kirby", 60.0).play(22, UP_B)
    assert (state(arena), arena.players.on_ground[0]) == ((CUTTER, 22.0), 1)
    arena.play(2)
    assert (arena.actions[0], arena.players.on_ground[0]) == (RISE, 0)
    until(arena, CUTTER_LANDING, 60)
    arena.play(1)
    assert arena.memory.laser_x[0][0] - arena.players.x[0] == pytest.approx(7.5)
    arena.play(3)
    assert arena.memory.laser_speed_x[0][0] == pytest.approx(3.7)
    arena.play_until(lambda arena: arena.players.percent[1] > 0.0, 30)
    assert arena.players.percent[1] == 6.0


def test_a_cutter_over_nothing_falls_on_without_an_end():
    arena = face_off("kirby", 100.0, height=150.0).play(1, UP_B)
    until(arena, CUTTER_FALL, 80)
    speed = float(arena.players.speed_y[0])
    arena.play(5)
    assert (arena.actions[0], arena.players.speed_y[0]) == (CUTTER_FALL, speed)


def test_a_stone_falls_hits_and_ends_by_b_after_18_frames():
    arena = face_off("kirby", 0.0, height=50.0).play(1, pad("B", y=-1.0))
    assert arena.actions[0] == AIR_STONE_START
    until(arena, AIR_STONE, 40)
    assert arena.players.y[0] < 50.0
    arena.play(2)
    assert arena.players.speed_y[0] == -4.5
    until(arena, STONE, 40)
    assert arena.players.percent[1] == 18.0
    count = int(arena.memory.move_count[0])
    arena.play(count - 132).play(1, B)
    assert arena.actions[0] == STONE_END
    until(arena, a.WAIT, 60)


def test_a_stone_takes_38_damage_before_a_hit_moves_it():
    arena = face_off("kirby", 14.0).play(1, pad("B", y=-1.0))
    assert arena.actions[0] == STONE_START
    until(arena, STONE, 40)
    until(arena, a.FSMASH, 3, second=pad("A", x=-1.0), seat=1).play(30)
    assert (arena.actions[0], arena.players.percent[0]) == (STONE, 0.0)
    assert 0.0 < arena.memory.move_value[0] < 38.0
    arena.memory.move_value[0] = 1.0
    arena.place(0, 0.0).place(1, 10.0).players.action[1] = a.WAIT
    arena.play(1, pad(), pad("A", x=-1.0)).play(30)
    assert arena.players.percent[0] > 0.0
    assert arena.actions[0] != STONE


def test_a_stone_ends_by_itself():
    arena = face_off("kirby", 150.0).play(1, pad("B", y=-1.0))
    until(arena, STONE, 40)
    assert arena.play_until(lambda arena: arena.actions[0] == STONE_END, 200) == 150


def full_mouth():
    """Kirby has just taken seat 1 in."""
    return until(face_off("kirby", 12.0).play(1, B), FULL_MOUTH, 60)


def test_kirby_inhales_from_the_17th_frame_a_player_behind_a_shield_too():
    arena = face_off("kirby", 12.2).play(16, B, pad(shoulder=1.0))
    assert state(arena) == (INHALE, 16.0)
    arena.play(1)
    assert arena.actions == [PULL, a.CAPTURE_KIRBY]
    place = float(arena.players.x[1])
    arena.play(1)
    assert arena.players.x[1] == pytest.approx(place - 0.9)
    until(arena, EAT, 20)
    assert arena.actions[1] == a.CAPTURE_WAIT_KIRBY


def test_b_swallows_and_throws_up_backwards():
    arena = full_mouth().play(1, B)
    assert arena.actions[0] == SWALLOW
    until(arena, a.THROWN_COPY_STAR, 20, seat=1)
    assert (arena.players.percent[1], arena.players.speed_air_x[1], arena.players.speed_y[1]) == (8.0, -0.68, 2.54)
    until(arena, a.FALL, 20, seat=1)
    assert arena.players.x[1] < arena.players.x[0]
    until(arena, a.WAIT, 40)


def test_a_spits_forward():
    arena = full_mouth().play(1, pad("A"))
    assert arena.actions[0] == SPIT
    until(arena, a.THROWN_STAR, 20, seat=1)
    assert arena.players.percent[1] == 10.0
    assert arena.players.speed_air_x[1] > 0.0


def test_buttons_free_a_player_in_the_mouth_sooner():
    arena = full_mouth()
    left = float(arena.memory.held_for[1])
    arena.play(1, pad(), pad("A")).play(1)
    assert arena.memory.held_for[1] == left - 2 - 12
    arena.memory.held_for[1] = 1.0
    arena.play(1)
    assert arena.actions == [a.CATCH_CUT, a.CAPTURE_CUT]


def test_a_mouth_goes_on_in_the_air_and_lets_go_when_kirby_is_hurt():
    arena = full_mouth()
    arena.place(0, 0.0, 40.0, grounded=False).players.action[0] = 377
    arena.play(2)
    assert arena.players.y[0] < 40.0
    assert arena.players.y[1] == arena.players.y[0]
    arena.players.action[0] = a.DAMAGE_AIR_1
    arena.play(1)
    assert arena.actions[1] == a.CAPTURE_CUT
