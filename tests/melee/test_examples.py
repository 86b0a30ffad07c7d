"""Replays as examples: which frames a label is of, in whose view, and one encoder for live games, blocks and files."""

import dataclasses
from collections import Counter

import numpy as np
import pytest

from selfplay.games.errors import GameError
from selfplay_melee.controller import BUTTONS, C_X, MAIN_X, SHOULDER, TAP, TAP_FRAMES, decode, encode, mirror
from selfplay_melee.examples import examples, known
from selfplay_melee.mock import MockMelee
from selfplay_melee.observation import OBS_WIDTH, feature_names
from selfplay_melee.observation import encode as encode_games
from selfplay_melee.replay import Recording, read_replay, replay_of, seat_of, write_replay
from selfplay_melee.slp.columns import absence
from selfplay_melee.state import GameState
from selfplay_melee.tables import CHARACTERS, STAGES, load_tables
from tests.games.play import seeds, some_actions
from tests.melee.slp_files import FINAL_DESTINATION, REAL, needs_real_files, seats

TABLES = load_tables()
SKIPS, DELAYS = (1, 3, 4), (0, 2, 18)
PENDING = feature_names().index("pending_0_A")  # and from there on


def replay_with(codes, *, first=-5, x=(-10.0, 10.0), frames=None):
    """A replay whose two seats play these codes [T, 2, 14] while standing at ``x``; unmirrored view of the world."""
    state = GameState.zeros(len(codes))
    state.game["frame"] = np.arange(first, first + len(codes)) if frames is None else frames
    state.players["x"] = x
    state.players["facing"] = 1.0, -1.0
    state.players["stocks"] = 4
    state.players["action"] = 14
    state.players["character"] = [CHARACTERS["fox"], CHARACTERS["marth"]]
    decode(codes, state.controllers)
    return replay_of(state, seats(), FINAL_DESTINATION)


def some_codes(frames, seed=0, few=False):
    """Codes [T, 2, 14] of frames; ``few``: of three controllers only, so that a label has equals and ties."""
    codes = some_actions(3 if few else frames, 1, seed)[:, 0]
    codes[..., TAP] = 0
    return codes[np.random.default_rng(seed).integers(0, 3, (frames, 2)), 0] if few else codes


def label_of(frames):
    """What the frames [k, 14] of one label give, said as plainly as can be."""
    sticks = [tuple(frame[MAIN_X:TAP].tolist()) for frame in frames]
    counted = Counter(sticks)
    chosen = next(stick for stick in sticks if counted[stick] == max(counted.values()))
    pressed = frames[:, : len(BUTTONS)].any(1)
    tap = len(frames) > TAP_FRAMES and 0 < pressed.sum() <= TAP_FRAMES and not pressed[-1]
    return [*frames[:, : len(BUTTONS)].max(0).tolist(), *chosen, int(tap)]


@pytest.mark.parametrize("frame_skip", SKIPS)
@pytest.mark.parametrize("delay", DELAYS)
def test_a_label_is_what_the_hands_did_once_the_decision_could_count(frame_skip, delay):
    codes = some_codes(90, seed=frame_skip, few=True)
    replay = replay_with(codes, first=-7)
    made = examples(replay, 0, frame_skip, delay, TABLES)
    decided = [n for n in range(0, 200, frame_skip) if 7 + n + delay + frame_skip < len(codes)]
    assert made.frame.tolist() == decided
    for i, frame in enumerate(decided):
        row = 7 + frame
        assert made.action[i].tolist() == label_of(codes[row + 1 + delay : row + 1 + delay + frame_skip, 0])
        assert made.last[i].tolist() == codes[row, 0].tolist()
    assert np.flatnonzero(made.fresh).tolist() == [0]


def test_the_few_controllers_of_that_test_make_ties():
    windows = some_codes(88, seed=4, few=True)[:, 0, MAIN_X:TAP].reshape(22, 4, 5)
    assert any((a == c).all() and (b == d).all() and (a != b).any() for a, b, c, d in windows)


def test_a_button_of_one_frame_counts():
    codes = some_codes(20)
    codes[...] = codes[0]
    codes[..., : len(BUTTONS)] = 0
    codes[8, 0, 1] = 1  # frame 3
    made = examples(replay_with(codes), 0, 4, 0, TABLES)
    assert made.action[:, 1].tolist() == [1, 0, 0]


def test_a_phase_moves_the_decisions():
    codes = some_codes(60)
    every, some = (examples(replay_with(codes), 1, k, 2, TABLES, phase=phase) for k, phase in ((1, 0), (4, 3)))
    assert some.frame.tolist() == list(range(3, 60 - 5 - 2 - 4, 4))
    np.testing.assert_array_equal(some.obs, every.obs[some.frame])


def test_full_deflection_and_full_trigger_are_labels():
    codes = some_codes(30)
    codes[...] = [0, 0, 0, 0, 0, 0, 0, 0, 16, 16, 16, 16, 4, 0]
    for frame_skip in SKIPS:
        action = examples(replay_with(codes), 0, frame_skip, 0, TABLES).action
        assert (action[:, MAIN_X:SHOULDER] == 16).all()
        assert (action[:, SHOULDER] == 4).all()


def test_labels_are_in_the_view_of_the_frame_of_the_decision():
    codes = some_codes(40)
    x = np.tile([-10.0, 10.0], (40, 1))
    x[20:] = [10.0, -10.0]  # they change places at frame 15
    replay = replay_with(codes, x=x)
    for seat, mirrored_until in ((0, False), (1, True)):
        made = examples(replay, seat, 1, 2, TABLES)
        where = (made.frame < 15) == mirrored_until
        rows = 5 + made.frame
        np.testing.assert_array_equal(made.action, mirror(codes[rows + 3, seat], where))
        np.testing.assert_array_equal(made.last, mirror(codes[rows, seat], where))
        assert where.any()
        assert (made.action[where][:, [MAIN_X, C_X]] == 16 - codes[rows + 3, seat][where][:, [MAIN_X, C_X]]).all()


@pytest.mark.parametrize("length", [0, 1, 5, 11, 12])
def test_a_game_too_short_for_a_label_gives_nothing(length):
    made = examples(replay_with(some_codes(length)), 0, 4, 2, TABLES)
    assert (len(made), made.obs.shape, made.action.shape) == (
        length // 12,
        (length // 12, OBS_WIDTH),
        (length // 12, 14),
    )
    assert made.fresh.tolist() == [True] * (length // 12)


def test_a_file_gives_back_what_a_policy_chose_and_saw(tmp_path):
    frame_skip, delay, steps = 4, 2, 60
    game = MockMelee(1, characters=("fox", "mewtwo"), stage="battlefield", delay=delay, max_episode_frames=10_000)
    obs = game.reset(seeds(1, 3))
    recording, chosen, seen = Recording(), some_actions(steps, 1, seed=8), []
    recording.take(game.state)
    for actions in chosen:
        seen.append(obs[0].copy())
        for frame in range(frame_skip):  # frame by frame, as a file is recorded; they act on the first
            batch = game.step(actions, np.full((1, 2), frame == 0))
            assert not batch.ended.any()
            recording.take(game.state)
            obs = batch.obs
    path = tmp_path / "game.slp"
    state = recording.state()
    write_replay(path, state, (seat_of(0, CHARACTERS["fox"]), seat_of(1, CHARACTERS["mewtwo"])), STAGES["battlefield"])
    replay = read_replay(path)
    for seat in range(2):
        made = examples(replay, seat, frame_skip, delay, TABLES)
        count = steps - 1  # the last decision had not yet been held for all of its frames
        assert made.frame.tolist() == list(range(0, frame_skip * count, frame_skip))
        wanted = chosen[:count, 0, seat].copy()
        wanted[~wanted[:, : len(BUTTONS)].any(1), TAP] = 0  # a tap of nothing
        np.testing.assert_array_equal(made.action, wanted)
        np.testing.assert_allclose(made.obs, np.array(seen)[:count, seat], rtol=0, atol=1e-5)


@needs_real_files
@pytest.mark.parametrize(
    "name", ["mewtwo_fox_FD_v3.19.1", "falcon_zelda_BF_v1.7_transform", "marth_falconcpu_FoD_v3.18"]
)
def test_live_games_blocks_and_files_are_encoded_alike(name):
    replay = read_replay(REAL / f"{name}.slp")
    state = known(replay.state)
    block = encode_games(state, TABLES)[0]  # all frames as the games of one block
    for seat in range(2):
        made = examples(replay, seat, 3, 18, TABLES)
        rows = made.frame + 123
        np.testing.assert_array_equal(made.obs[:, :PENDING], block[rows, seat, :PENDING])
        assert np.isfinite(made.obs).all()
        assert np.abs(made.obs).max() <= 31.0
    for t in range(0, len(block), 7):
        one = slice(t, t + 1)
        live = encode_games(GameState(state.game[one], state.players[one], state.controllers[one]), TABLES)[0]
        np.testing.assert_array_equal(live[0], block[t])


@needs_real_files
def test_the_labels_of_a_real_game_are_its_controllers():
    replay = read_replay(REAL / "mewtwo_fox_FD_v3.19.1.slp")
    codes = encode(replay.state.controllers)
    mirrored = encode_games(replay.state, TABLES)[1]
    for seat in range(2):
        made = examples(replay, seat, 1, 2, TABLES)
        rows = made.frame + 123
        np.testing.assert_array_equal(made.action, mirror(codes[rows + 3, seat], mirrored[rows, seat]))


def test_what_a_file_does_not_record_is_zero():
    state = replay_with(some_codes(4)).state
    names = state.players.dtype.names
    for name in ("speed_air_x", "hitlag", "jumps_left", "on_ground", "invulnerable"):
        state.players[name] = absence(state.players.dtype[name])
    state.players["facing"] = -1.0
    state.players["x"][2] = np.inf
    state.game["fountain_left"] = np.nan
    copy = known(state)
    assert all((copy.players[name] == 0).all() for name in ("speed_air_x", "hitlag", "jumps_left", "on_ground"))
    assert (copy.players["invulnerable"] == 0).all()
    assert copy.players["x"].tolist() == [[-10, 10], [-10, 10], [0, 0], [-10, 10]]
    assert (copy.game["fountain_left"] == 0).all()
    assert (copy.players["facing"] == -1).all()
    assert copy.game["frame"].tolist() == [-5, -4, -3, -2]
    assert np.isnan(state.players["hitlag"]).all(), "the state itself is left as it was"
    assert copy.players.dtype.names == names


@pytest.mark.parametrize(
    "wrong",
    [{"seat": 2}, {"seat": -1}, {"frame_skip": 0}, {"delay": -1}, {"phase": -1}, {"phase": 4}],
)
def test_arguments_out_of_range_are_refused(wrong):
    options = {"seat": 0, "frame_skip": 4, "delay": 0, **wrong}
    with pytest.raises(GameError, match="seat must be 0 or 1"):
        examples(replay_with(some_codes(30)), tables=TABLES, **options)


def test_a_stage_without_a_table_is_named():
    replay = dataclasses.replace(replay_with(some_codes(30)), stage=-1, external_stage=5, path="brinstar.slp")
    with pytest.raises(GameError, match=r"brinstar\.slp: stage 5 of replay files has no table"):
        examples(replay, 0, 4, 0, TABLES)
