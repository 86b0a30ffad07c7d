"""Writing .slp files from games of the mock."""

import dataclasses
import os
import struct
from datetime import UTC, datetime

import numpy as np
import pytest

from selfplay.games.errors import GameError
from selfplay_melee.errors import ReplayError
from selfplay_melee.mock import MockMelee, neutral_actions
from selfplay_melee.replay import End, Recording, end_of, read_replay, replay_of, save_replay, seat_of, write_replay
from selfplay_melee.slp.container import read_metadata
from selfplay_melee.slp.start import STAGES
from selfplay_melee.state import GameState
from selfplay_melee.tables import STAGES as TABLES
from tests.melee.slp_files import (
    FINAL_DESTINATION,
    FOUNTAIN,
    FOX,
    MARTH,
    VERSIONS,
    Parts,
    assert_same,
    assert_same_array,
    file_bytes,
    random_items,
    random_state,
    seats,
    synthetic,
)


def rounded(array):
    """Floats as a file holds them."""
    result = array.copy()
    for name in array.dtype.names:
        if array.dtype[name].kind == "f":
            result[name] = array[name].astype(np.float32)
    return result


def test_a_state_is_read_as_it_was_written(tmp_path):
    """Rounded to 32 bits, and nothing else changed."""
    state = random_state(50)
    replay = write_replay(tmp_path / "a.slp", state, seats(), FINAL_DESTINATION, items=random_items(50, 30))
    read = read_replay(tmp_path / "a.slp")
    assert_same_array(read.state.players, rounded(state.players), "players")
    assert_same_array(read.state.controllers, rounded(state.controllers), "controllers")
    np.testing.assert_array_equal(read.state.game["frame"], state.game["frame"])
    assert_same(replay, read)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_what_was_read_is_written_as_it_was(tmp_path, version):
    first = read_replay(file_bytes(tmp_path, synthetic(version=version)))
    assert_same(first, read_replay(file_bytes(tmp_path, first)))


def test_moving_platforms_are_written(tmp_path):
    state = random_state(30)
    state.game["fountain_left"][5:9] = 16.125
    replay = write_replay(tmp_path / "a.slp", state, seats(), FOUNTAIN)
    read = read_replay(tmp_path / "a.slp")
    assert_same(replay, read)
    for name in ("fountain_left", "fountain_right"):
        np.testing.assert_allclose(read.state.game[name], state.game[name], rtol=0, atol=1e-5)


def test_codes_of_the_controller_are_exact(tmp_path):
    """Eighths of a stick, quarters of the shoulder, all buttons."""
    state = random_state(289)
    codes = np.arange(-8, 9) / 8
    state.controllers["main_x"], state.controllers["main_y"] = (a.reshape(-1, 1) for a in np.meshgrid(codes, codes))
    state.controllers["shoulder"] = np.arange(289)[:, None] % 5 / 4
    state.controllers["buttons"] = np.arange(289)[:, None] % 256
    write_replay(tmp_path / "a.slp", state, seats(), FINAL_DESTINATION)
    controllers = read_replay(tmp_path / "a.slp").state.controllers
    for name in ("main_x", "main_y", "shoulder", "buttons"):
        np.testing.assert_array_equal(controllers[name], state.controllers[name], err_msg=name)


def test_inputs_stand_with_the_state_that_they_meet(tmp_path):
    """The pre-frame event has the inputs of its frame and the state of the frame before."""
    state = random_state(9)
    replay = write_replay(tmp_path / "a.slp", state, seats(), FINAL_DESTINATION)
    np.testing.assert_array_equal(replay.pre["x"][1:], replay.post["x"][:-1])
    np.testing.assert_array_equal(replay.pre["main_x"], replay.state.controllers["main_x"])


def test_the_file_says_who_played_and_how_long(tmp_path):
    started = datetime(2025, 2, 3, 4, 5, 6, tzinfo=UTC)
    state = random_state(10)
    state.players["character"][4:, 0] = 7
    path = tmp_path / "a.slp"
    write_replay(path, state, seats(), FINAL_DESTINATION, started=started)
    data = path.read_bytes()
    assert read_metadata(data, 15 + struct.unpack_from(">I", data, 11)[0]) == {
        "startAt": "2025-02-03T04:05:06Z",
        "lastFrame": -114,
        "players": {
            "0": {"names": {"netplay": "Anna"}, "characters": {"1": 4, "7": 6}},
            "2": {"names": {"netplay": "Box"}, "characters": {"18": 10}},
        },
        "playedOn": "mock",
    }


def test_the_same_replay_gives_the_same_bytes(tmp_path):
    replay, started = synthetic(), datetime(2025, 1, 1, tzinfo=UTC)
    for name in ("a.slp", "b.slp"):
        save_replay(tmp_path / name, replay, started)
    assert (tmp_path / "a.slp").read_bytes() == (tmp_path / "b.slp").read_bytes()


@pytest.mark.parametrize(
    ("stocks", "percent", "end"),
    [
        ((0, 2), (0, 90), End(2, None, (1, 0))),
        ((1, 0), (50, 0), End(2, None, (0, 1))),
        ((3, 3), (10, 20), End(7, None, (0, 1))),
        ((3, 3), (20, 10), End(7, None, (1, 0))),
    ],
)
def test_the_end_follows_from_the_last_frame(tmp_path, stocks, percent, end):
    state = random_state(3)
    state.players["stocks"][-1], state.players["percent"][-1] = stocks, percent
    write_replay(tmp_path / "a.slp", state, seats(), FINAL_DESTINATION)
    assert read_replay(tmp_path / "a.slp").end == end


def test_the_end_follows_from_what_a_game_left():
    stocks, percent = np.array([2, 1], np.int32), np.array([90.0, 0.0])
    assert end_of(stocks, percent) == End(7, None, (0, 1))
    assert end_of(stocks, percent, timer=True) == End(1, None, (0, 1))
    assert end_of(stocks - 1, percent, timer=True) == End(2, None, (0, 1))


@pytest.mark.parametrize("stage", sorted(STAGES.values()))
def test_every_stage_has_its_number(tmp_path, stage):
    write_replay(tmp_path / "a.slp", random_state(2), seats(), stage)
    read = read_replay(tmp_path / "a.slp")
    assert read.stage == stage
    assert (read.state.game["stage"] == stage).all()


def test_stages_of_the_tables_can_be_written():
    assert set(TABLES.values()) <= set(STAGES.values())


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("", ""),
        ("Kätzchen", "Katzchen"),
        ("プレイヤー", "プレイヤー"),
        ("\uff21\uff22\uff11", "AB1"),  # full width
        ("🙂!", "?!"),
        ("x" * 40, "x" * 30),
        ("ア" * 40, "ア" * 15),
    ],
)
def test_names_are_kept_as_far_as_the_file_can(tmp_path, name, kept):
    pair = (seat_of(0, FOX, name=name), seat_of(3, MARTH))
    write_replay(tmp_path / "a.slp", random_state(2), pair, FINAL_DESTINATION)
    assert read_replay(tmp_path / "a.slp").seats == (seat_of(0, FOX, name=kept), seat_of(3, MARTH))


@pytest.mark.parametrize(("code", "kept"), [("KIM\uff03123", "KIM#123"), ("abcdefghij#1", "abcdefgh")])
def test_connect_codes_are_kept_as_far_as_the_file_can(tmp_path, code, kept):
    pair = (dataclasses.replace(seat_of(0, FOX), code=code), seat_of(3, MARTH))
    written = write_replay(tmp_path / "a.slp", random_state(2), pair, FINAL_DESTINATION)
    assert [seat.code for seat in written.seats] == [kept, ""]
    assert read_replay(tmp_path / "a.slp").seats == written.seats


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s: s.players["stocks"].__setitem__((1, 1), 256), "stocks is 256, 0 to 255"),
        (lambda s: s.players["action"].__setitem__((1, 1), -1), "action is -1, 0 to 65535"),
        (lambda s: s.controllers["main_x"].__setitem__((1, 1), 1.7), "raw_x is 136, -128 to 127"),
        (lambda s: s.game["frame"].__setitem__(1, -123), "frames must rise"),
        (lambda s: s.game["frame"].__setitem__(0, -124), "frames must rise from -123"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, change, reason):
    state = random_state(3)
    change(state)
    with pytest.raises(ReplayError, match=reason):
        write_replay(tmp_path / "a.slp", state, seats(), FINAL_DESTINATION)
    assert list(tmp_path.iterdir()) == []


def test_what_is_absent_is_not_written_as_if_it_were_known(tmp_path):
    old = read_replay(file_bytes(tmp_path, synthetic(version=(1, 0, 0))))
    with pytest.raises(ReplayError, match="is -1"):
        save_replay(tmp_path / "new.slp", dataclasses.replace(old, version=(3, 18, 0)))


def test_unknown_characters_and_stages_are_refused():
    with pytest.raises(GameError, match="internal id 27, valid are 0 to 26"):
        seat_of(0, 27)
    with pytest.raises(GameError, match="stage 5 has no number"):
        replay_of(random_state(2), seats(), 5)


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "a.slp"
    write_replay(path, random_state(2), seats(), FINAL_DESTINATION)
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReplayError, match=r"a.slp: No space left on device"):
        write_replay(path, random_state(5), seats(), FINAL_DESTINATION)
    assert [p.name for p in path.parent.iterdir()] == ["a.slp"]
    assert path.read_bytes() == before


def test_an_empty_game_is_a_file_without_frames(tmp_path):
    write_replay(tmp_path / "a.slp", Recording().state(), seats(), FINAL_DESTINATION)
    read = read_replay(tmp_path / "a.slp")
    assert len(read.pre) == 0
    assert read.end == End(7, None, None)


def test_a_recording_keeps_one_game_of_a_block():
    block = GameState.zeros(3)
    recording = Recording(game=1)
    for frame in range(4):
        block.game["frame"] = frame
        block.players["x"] = frame * 10 + np.arange(3)[:, None]
        block.controllers["buttons"] = frame
        recording.take(block)
    assert len(recording) == 4
    state = recording.state()
    np.testing.assert_array_equal(state.game["frame"], range(4))
    np.testing.assert_array_equal(state.players["x"], [[1, 1], [11, 11], [21, 21], [31, 31]])
    np.testing.assert_array_equal(state.controllers["buttons"][:, 1], range(4))


def test_a_game_of_the_mock_is_read_as_it_was_played(tmp_path):
    block = MockMelee(2, characters=("fox", "mewtwo"))
    block.bots[:] = block.bot_names.index("random")
    block.reset(np.arange(2, dtype=np.uint64))
    recording = Recording(game=1)
    for _ in range(600):
        block.step(neutral_actions(2))
        recording.take(block.state)
    state = recording.state()
    pair = tuple(seat_of(seat, int(state.players["character"][0, seat])) for seat in range(2))
    write_replay(tmp_path / "a.slp", state, pair, int(state.game["stage"][0]))
    read = read_replay(tmp_path / "a.slp")
    assert_same_array(read.state.players, rounded(state.players), "players")
    assert_same_array(read.state.controllers, rounded(state.controllers), "controllers")
    np.testing.assert_array_equal(read.state.game["frame"], state.game["frame"])
    assert (np.ptp(state.players["x"], axis=0) > 1).all()  # they moved


def test_a_game_that_does_not_begin_with_a_countdown_is_complete(tmp_path):
    write_replay(tmp_path / "a.slp", random_state(5, first=0), seats(), FINAL_DESTINATION)
    read = read_replay(tmp_path / "a.slp")
    assert read.complete
    np.testing.assert_array_equal(read.state.game["frame"], range(5))


def test_events_stand_in_the_order_of_the_game(tmp_path):
    items = random_items(4, 6)
    replay = replay_of(random_state(4), seats(), FOUNTAIN, items=items)
    parts = Parts(file_bytes(tmp_path, replay))
    for row, frame in enumerate(range(-123, -119)):
        commands = [parts.events[i][0] for i in parts.of_frame(frame)]
        middle = [0x3F, 0x3F] + [0x3B] * int((items["t"] == row).sum())
        assert commands == [0x3A, 0x37, 0x37, *middle, 0x38, 0x38, 0x3C]
