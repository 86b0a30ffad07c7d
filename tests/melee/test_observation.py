import numpy as np
import pytest

from selfplay.games.errors import GameError
from selfplay_melee.actions import NAIR, NUM_ACTIONS
from selfplay_melee.controller import TAP
from selfplay_melee.mock import neutral_actions
from selfplay_melee.observation import OBS_WIDTH, encode, encode_one, feature_names, no_delay
from selfplay_melee.tables import load_tables
from tests.games.play import make, seeds, some_actions

AT = {name: i for i, name in enumerate(feature_names())}


def test_features_have_names_of_their_own():
    assert len(AT) == len(feature_names()) == OBS_WIDTH


def test_a_seat_sees_itself_first():
    game = make(1)
    game.state.players["percent"] = 30.0, 70.0
    obs, _ = encode(game.state, load_tables())
    assert obs[0, :, AT["self_percent"]] == pytest.approx([0.3, 0.7])
    assert obs[0, :, AT["other_percent"]] == pytest.approx([0.7, 0.3])


def test_the_opponent_is_always_on_the_right():
    game = make(8)
    for actions in some_actions(300, 8):
        obs = game.step(actions).obs
        assert (obs[..., AT["other_x"]] >= obs[..., AT["self_x"]]).all()
        assert (obs[..., AT["gap_x"]] >= 0).all()


def test_where_both_stand_on_one_spot_a_seat_looks_to_the_right():
    game = make(1)
    game.state.players["x"] = 5.0
    game.state.players["facing"] = -1.0, 1.0
    obs, mirrored = encode(game.state, load_tables())
    assert mirrored.tolist() == [[True, False]]
    assert (obs[0, :, AT["self_facing"]] == 1.0).all()


def test_the_last_controller_is_seen_as_it_was_chosen():
    game = make(1)
    actions = some_actions(1, 1)[0]
    obs = game.step(actions).obs[0]
    assert obs[:, AT["last_main_x"]].tolist() == ((actions[0, :, 8] - 8.0) / 8.0).tolist()
    assert obs[:, AT["last_c_y"]].tolist() == ((actions[0, :, 11] - 8.0) / 8.0).tolist()
    assert obs[:, AT["last_A"]].tolist() == actions[0, :, 0].tolist()
    assert obs[:, AT["last_shoulder"]].tolist() == (actions[0, :, 12] / 4.0).tolist()


def test_a_seat_with_a_delay_sees_what_it_has_chosen():
    game = make(1, frame_skip=4, delay=(15, 0))
    chosen = some_actions(6, 1)
    chosen[..., TAP] = 0
    for actions in chosen:
        obs = game.step(actions).obs[0]
    frames = np.repeat([2, 3, 4, 5], 4)[1:]  # the step that chose the inputs of each of the next 15 frames
    for part, steps in enumerate(np.split(frames, [3, 7, 11])):
        codes = chosen[steps, 0, 0].astype(float)
        jump = np.maximum(codes[:, 2], codes[:, 3]).mean()
        assert obs[0, AT[f"pending_{part}_jump"]] == pytest.approx(jump)
        assert obs[0, AT[f"pending_{part}_A"]] == pytest.approx(codes[:, 0].mean())
        assert obs[0, AT[f"pending_{part}_main_y"]] == pytest.approx(((codes[:, 9] - 8) / 8).mean(), abs=1e-6)
        assert abs(obs[0, AT[f"pending_{part}_main_x"]]) == pytest.approx(abs(((codes[:, 8] - 8) / 8).mean()), abs=1e-6)
    pending = [i for name, i in AT.items() if name.startswith("pending")]
    assert (obs[1, pending] == 0).all()


def test_a_tap_is_pending_for_as_long_as_it_presses():
    game = make(1, frame_skip=4, delay=4)
    actions = neutral_actions(1)
    actions[..., [0, TAP]] = 1
    assert game.step(actions).obs[0, :, AT["pending_0_A"]].tolist() == [1, 1]
    assert game.step(actions).obs[0, :, AT["pending_2_A"]].tolist() == [0, 0]


def test_a_mirrored_stage_is_the_same_stage():
    obs = make(1, stage="battlefield").reset(seeds(1))[0]
    stage = [i for name, i in AT.items() if name.startswith(("platform", "edge", "blast"))]
    assert np.array_equal(obs[0, stage], obs[1, stage])


@pytest.mark.parametrize("stage", ["battlefield", "final_destination", "pokemon_stadium"])  # equal on both sides
@pytest.mark.parametrize("pair", [("mewtwo", "mewtwo"), ("mewtwo", "fox"), ("fox", "fox"), ("falco", "marth")])
def test_swapped_seats_see_the_same_and_get_negated_rewards(stage, pair):
    games = 16
    options = {"stage": stage, "max_episode_frames": 700, "frame_skip": 2}
    game, swapped = make(games, characters=pair, **options), make(games, characters=pair[::-1], **options)
    ended = np.zeros(games, bool)
    for actions in np.repeat(some_actions(250, games), 2, axis=0):
        one, two = game.step(actions), swapped.step(actions[:, ::-1].copy())
        assert np.array_equal(one.obs, two.obs[:, ::-1])
        assert np.array_equal(one.reward, two.reward[:, ::-1])
        assert np.array_equal(one.reward[:, 0], -two.reward[:, 0])
        assert np.array_equal(one.ended, two.ended)
        assert np.array_equal(one.final_obs[one.ended], two.final_obs[one.ended, ::-1])
        assert np.array_equal(one.score[one.ended], two.score[one.ended, ::-1])
        for name in one.stats.dtype.names:
            if not name.startswith("reward"):
                assert np.array_equal(one.stats[name][one.ended], two.stats[name][one.ended, ::-1])
        ended |= one.ended
    assert ended.all()


def test_a_block_gives_what_the_encoder_gives():
    game = make(4)
    for actions in some_actions(100, 4):
        obs = game.step(actions).obs
        assert np.array_equal(encode(game.state, load_tables())[0], obs)


def test_features_of_the_wildest_play_are_of_moderate_size():
    game = make(16, stage="battlefield")
    for actions in np.repeat(some_actions(200, 16), 3, axis=0):
        game.state.players["percent"] = 999.0
        assert np.abs(game.step(actions).obs).max() <= 31.0


UNSEEN = ("weight", "gravity", "fall_speed", "run_max", "air_max", "full_hop", "busy", "hitting")


@pytest.mark.parametrize("character", [9, 63, 64, 255, -1])  # Peach has no table, the others are none
def test_of_a_character_without_a_table_traits_are_zero(character):
    game, tables = make(1), load_tables()
    game.state.players["action"] = NAIR
    game.state.players["action_frame"] = 3.0
    before = encode(game.state, tables)[0]
    game.state.players["character"][0, 1] = character
    obs = encode(game.state, tables)[0]
    unseen = [AT[f"other_{name}"] for name in UNSEEN]
    assert (before[0, 0, unseen] != 0).all()
    assert (obs[0, 0, unseen] == 0).all()
    others = np.setdiff1d(np.arange(OBS_WIDTH), unseen)
    assert np.array_equal(obs[0, 0, others], before[0, 0, others])


@pytest.mark.parametrize("action", [-1, NUM_ACTIONS, 65535])
def test_of_an_action_beyond_the_tables_nothing_is_known(action):
    game = make(1)
    game.state.players["action"][0, 0] = action
    game.state.players["hitstun"][0, 0] = 9.0
    obs = encode(game.state, load_tables())[0][0, 0]
    assert obs[[AT["self_busy"], AT["self_hitting"]]].tolist() == [0, 0]
    assert not obs[[i for name, i in AT.items() if name.startswith("self_is_")]].any()
    assert obs[AT["self_weight"]] > 0


@pytest.mark.parametrize("stage", [-1, 7, 64, 1000])
def test_a_stage_without_a_table_is_an_error_that_names_it(stage):
    game = make(3)
    game.state.game["stage"][1] = stage
    with pytest.raises(GameError, match=f"stage {stage} has no table"):
        encode(game.state, load_tables())


@pytest.mark.parametrize("seat", [0, 1])
def test_one_seat_alone_sees_the_same(seat):
    game = make(5)
    for actions in some_actions(40, 5):
        game.step(actions)
    both = encode(game.state, load_tables())
    one = encode_one(game.state, seat, load_tables(), no_delay(5, 1))
    assert np.array_equal(one[0], both[0][:, seat])
    assert np.array_equal(one[1], both[1][:, seat])
