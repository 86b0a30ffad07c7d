"""Reading .slp files: what counts, and what is absent."""

import dataclasses
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from selfplay_melee.replay import End, read_replay
from selfplay_melee.slp import layout
from tests.melee.slp_files import FOUNTAIN, VERSIONS, Parts, assert_same, file_bytes, synthetic
from tests.support.processes import finish

ROOT = Path(__file__).parents[2]


@pytest.fixture
def made(tmp_path):
    """A replay, and its file in parts."""
    replay = synthetic()
    return replay, Parts(file_bytes(tmp_path, replay))


def with_x(event, x):
    """A post-frame event with another x."""
    return event[:0xA] + struct.pack(">f", x) + event[0xE:]


def second_recording(parts, frame, shift=1000.0):
    """The events of a frame once more, players ``shift`` further right."""
    events = [parts.events[i] for i in parts.of_frame(frame)]
    return [with_x(e, struct.unpack_from(">f", e, 0xA)[0] + shift) if e[0] == layout.POST_FRAME else e for e in events]


def test_what_was_written_is_read(made):
    replay, parts = made
    read = read_replay(parts.bytes())
    assert_same(replay, read, skip=("path",))
    assert read.path == "<bytes>"
    assert read.complete
    assert read.problems == ()


def test_frames_and_inputs_are_aligned(made):
    replay, parts = made
    event = parts.events[parts.of_frame(-120)[1]]  # frame start, then the first player's inputs
    assert event[0] == layout.PRE_FRAME
    assert replay.state.game["frame"][3] == -120
    assert struct.unpack_from(">f", event, 0x19)[0] == pytest.approx(replay.state.controllers["main_x"][3, 0])


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_every_version_is_read_as_it_was_written(tmp_path, version):
    replay = synthetic(version=version)
    read = read_replay(file_bytes(tmp_path, replay))
    assert read.version == version
    for name in ("pre", "post", "items", "timing"):
        written, got = getattr(replay, name), getattr(read, name)
        if name == "items" and version < (3, 0, 0):
            assert len(got) == 0
            continue
        for column in written.dtype.names:
            if f"{name}.{column}" in read.absent:
                nothing = np.nan if got.dtype[column].base.kind == "f" else -1
                np.testing.assert_array_equal(got[column], np.full_like(got[column], nothing), err_msg=column)
            else:
                np.testing.assert_array_equal(got[column], written[column], err_msg=column)


@pytest.mark.parametrize(
    ("version", "absent", "present"),
    [
        (
            (1, 0, 0),
            "players.on_ground players.hitstun players.jumps_left pre.raw_x pre.percent",
            "players.action_frame",
        ),
        ((2, 0, 0), "players.invulnerable players.hitlag players.speed_y", "players.on_ground players.hitstun"),
        ((2, 1, 0), "players.speed_air_x timing.random_seed items.type", "players.invulnerable"),
        ((3, 5, 0), "players.hitlag items.owner", "players.speed_air_x items.misc timing.random_seed"),
        ((3, 8, 0), "post.animation timing.scene_frame", "players.hitlag items.owner timing.finalized_frame"),
        ((3, 15, 0), "pre.raw_c_x post.instance items.instance fod_platforms", "pre.raw_y"),
        ((3, 16, 0), "pre.raw_c_y fod_platforms whispy stadium", "post.instance items.instance"),
    ],
)
def test_what_a_version_lacks_is_marked_absent(tmp_path, version, absent, present):
    read = read_replay(file_bytes(tmp_path, synthetic(version=version)))
    assert set(absent.split()) <= read.absent
    assert read.absent.isdisjoint(present.split())


def test_absent_columns_of_players_are_not_guessed(tmp_path):
    read = read_replay(file_bytes(tmp_path, synthetic(version=(1, 0, 0))))
    players = read.state.players
    for column in ("hitstun", "hitlag", "speed_y", "speed_air_x"):
        assert np.isnan(players[column]).all(), column
    for column in ("on_ground", "invulnerable", "jumps_left"):
        assert (players[column] == -1).all(), column
    assert read.end == End(2, None, None)
    assert (read.pal, read.frozen_stadium) == (None, None)


def test_longer_events_than_known_are_read(made):
    replay, parts = made
    for command in (layout.PRE_FRAME, layout.POST_FRAME, layout.ITEM, layout.GAME_START, layout.GAME_END):
        parts.sizes[command] += 5
    parts.events = [e + b"\xaa" * (1 + parts.sizes[e[0]] - len(e)) for e in parts.events]
    assert_same(replay, read_replay(parts.bytes()), skip=("path",))


def test_unknown_events_are_skipped_by_their_size(made):
    replay, parts = made
    parts.sizes[0xFE], parts.sizes[0xFD] = 3, 0
    parts.events[4:4] = [b"\xfe\x37\x38\x39"]
    parts.events[9:9] = [b"\xfd", b"\xfd"]
    read = read_replay(parts.bytes())
    assert_same(replay, read, skip=("path", "problems"))
    assert read.problems == ("2 unknown events 0xfd skipped", "1 unknown events 0xfe skipped")


def test_what_only_looks_like_a_frame_start_is_none(made):
    """An unknown event, in two of three frames, in which a start and the inputs behind it stand."""
    replay, parts = made
    parts.sizes[0x50] = 40
    start = 1 + parts.sizes[layout.FRAME_START]
    fake = b"\x50" + (b"\x3a" + b"\0" * (start - 1) + b"\x37").ljust(40, b"\0")
    for frame in replay.state.game["frame"].tolist():
        if frame % 3:
            parts.events.insert(parts.of_frame(frame)[2], fake)
    read = read_replay(parts.bytes())
    assert_same(replay, read, skip=("path", "problems"))
    (problem,) = read.problems
    assert problem == f"{np.count_nonzero(replay.state.game['frame'] % 3)} unknown events 0x50 skipped"


def test_columns_are_made_once(made):
    read = read_replay(made[1].bytes())
    for name in ("state", "pre", "post", "items", "timing"):
        assert getattr(read, name) is getattr(read, name)


def test_reading_needs_no_compiler():
    script = "import sys, selfplay_melee.replay; sys.exit('numba' in sys.modules)"
    assert finish([sys.executable, "-c", script], cwd=ROOT).returncode == 0


def test_the_last_recording_of_a_frame_counts(made):
    replay, parts = made
    behind = parts.of_frame(-118)[-1] + 1
    parts.events[behind:behind] = second_recording(parts, -119) + second_recording(parts, -118)
    read = read_replay(parts.bytes())
    rows = np.flatnonzero(read.rolled_back)
    np.testing.assert_array_equal(read.state.game["frame"][rows], [-119, -118])
    expected = replay.post["x"].copy()
    expected[rows] += np.float32(1000)
    np.testing.assert_array_equal(read.state.players["x"], expected)
    assert len(read.items) == len(replay.items)  # none twice
    assert read.complete


def test_recordings_without_a_frame_start_are_told_apart(tmp_path):
    """Before version 2.2 no event says that a frame begins."""
    replay = synthetic(version=(2, 0, 0))
    parts = Parts(file_bytes(tmp_path, replay))
    behind = parts.of_frame(-118)[-1] + 1
    parts.events[behind:behind] = second_recording(parts, -118)
    read = read_replay(parts.bytes())
    assert read.rolled_back.sum() == 1
    np.testing.assert_array_equal(read.state.players["x"][5], replay.post["x"][5] + np.float32(1000))


def test_a_recording_that_is_not_whole_does_not_count(made):
    replay, parts = made
    again = second_recording(parts, -118)
    cut = next(i for i, e in enumerate(again) if e[0] == layout.POST_FRAME) + 1
    behind = parts.of_frame(-118)[-1] + 1
    parts.events[behind:behind] = again[:cut]  # one player's post-frame event only
    read = read_replay(parts.bytes())
    assert_same(replay, read, skip=("path", "rolled_back"))
    assert read.rolled_back.sum() == 1


def test_followers_are_not_players(made):
    replay, parts = made
    for i in reversed(parts.of_frame(-110)):
        event = parts.events[i]
        if event[0] in (layout.PRE_FRAME, layout.POST_FRAME):
            nana = event[:6] + b"\x01" + event[7:]
            parts.events.insert(i + 1, with_x(nana, 5.0) if event[0] == layout.POST_FRAME else nana)
    assert_same(replay, read_replay(parts.bytes()), skip=("path",))


def test_a_frame_without_a_players_event_is_left_out(made):
    replay, parts = made
    post = [i for i in parts.of_frame(-113) if parts.events[i][0] == layout.POST_FRAME]
    del parts.events[post[1]]
    read = read_replay(parts.bytes())
    assert -113 not in read.state.game["frame"]
    assert len(read.pre) == len(replay.pre) - 1
    assert not read.complete
    assert read.problems == ("1 frames are left out, the first is -113",)


def test_frames_that_cannot_be_are_skipped(made):
    replay, parts = made
    for frame in (-124, 2**31 - 1, -(2**31)):
        event = parts.events[parts.of_frame(-113)[1]]
        parts.events.append(event[:1] + struct.pack(">i", frame) + event[5:])
    read = read_replay(parts.bytes())
    assert_same(replay, read, skip=("path", "problems", "complete"))
    assert not read.complete


def test_of_two_ends_the_last_counts(made):
    _, parts = made
    parts.events.append(struct.pack(">BBb4b", layout.GAME_END, 7, 2, 0, -1, 1, -1))
    assert read_replay(parts.bytes()).end == End(7, 1, (0, 1))


def test_a_file_without_frames_has_none(made):
    replay, parts = made
    parts.events = parts.events[:1]
    read = read_replay(parts.bytes())
    assert read.state.players.shape == (0, 2)
    assert [seat.character for seat in read.seats] == [-1, -1]
    assert [seat.external_character for seat in read.seats] == [s.external_character for s in replay.seats]


def test_platforms_are_carried_forward(tmp_path):
    heights = np.full((20, 2), [20.0, 28.0], np.float32)
    heights[6:, 0] = 21.5
    heights[12:, 1] = 3.25
    replay = dataclasses.replace(synthetic(stage=FOUNTAIN), fod_platforms=heights)
    parts = Parts(file_bytes(tmp_path, replay))
    events = [event for event in parts.events if event[0] == layout.FOUNTAIN]
    assert [e[5] for e in events] == [layout.LEFT_PLATFORM, layout.RIGHT_PLATFORM] * 2
    read = read_replay(parts.bytes())
    np.testing.assert_array_equal(read.fod_platforms, heights)
    np.testing.assert_array_equal(read.state.game["fountain_left"], 1.125 + 0.75 * heights[:, 0])
    np.testing.assert_array_equal(read.state.game["fountain_right"], 1.125 + 0.75 * heights[:, 1])
    assert read.state.game["fountain_given"].all()


def test_platforms_that_have_not_moved_are_where_games_start(tmp_path):
    heights = np.full((20, 2), np.nan, np.float32)
    heights[6:, 0] = 20.15
    read = read_replay(file_bytes(tmp_path, dataclasses.replace(synthetic(stage=FOUNTAIN), fod_platforms=heights)))
    np.testing.assert_array_equal(read.fod_platforms, heights)
    assert (read.state.game["fountain_left"][:6] == 16.125).all()
    assert (read.state.game["fountain_right"] == 22.125).all()


@pytest.mark.parametrize(("stage", "version"), [(FOUNTAIN, (3, 16, 0)), (25, (3, 18, 0))])
def test_platforms_that_are_not_recorded_are_not_guessed(tmp_path, stage, version):
    game = read_replay(file_bytes(tmp_path, synthetic(stage=stage, version=version))).state.game
    assert np.isnan(game["fountain_left"]).all()
    assert not game["fountain_given"].any()


def test_wind_and_transformations_are_carried_forward(tmp_path):
    replay = synthetic()
    replay.whispy[4:], replay.whispy[9:] = 1, 0
    replay.stadium[3:], replay.stadium[8:, 0] = [2, 4], 5
    assert_same(replay, read_replay(file_bytes(tmp_path, replay)), skip=("path",))


def test_hitstun_counts_only_under_its_flag(tmp_path):
    replay = synthetic()
    replay.post["misc"] = 12.5
    replay.post["flags"][:, :, 3] = 0
    replay.post["flags"][7, 1, 3] = 0x02
    read = read_replay(file_bytes(tmp_path, replay))
    assert read.state.players["hitstun"][7, 1] == 12.5
    assert np.count_nonzero(read.state.players["hitstun"]) == 1


@pytest.mark.parametrize(
    ("physical", "processed", "buttons"),
    [
        (0x100, 0x100, 0b1),  # A
        (0x010, 0x110, 0b10000),  # Z: the game makes A of it too
        (0x110, 0x110, 0b10001),  # Z and A
        (0x000, 0x120, 0b1000001),  # nobody holds this controller: A and R of a computer player
        (0x000, 0x80880000, 0),  # bits of sticks and triggers
        (0x1008, 0x1008, 0b10000000),  # up on the pad; start is none of ours
        (0x0E40, 0x0E40, 0b101110),  # B, X, Y, L
    ],
)
def test_buttons_are_those_of_the_hands(tmp_path, physical, processed, buttons):
    replay = synthetic(frames=2)
    replay.pre["physical_buttons"], replay.pre["processed_buttons"] = physical, processed
    read = read_replay(file_bytes(tmp_path, replay))
    assert (read.state.controllers["buttons"] == buttons).all()


def test_names_come_from_the_start_event_or_the_metadata(made, tmp_path):
    _, parts = made
    assert [seat.name for seat in read_replay(parts.bytes()).seats] == ["Anna", "Box"]
    old = file_bytes(tmp_path, synthetic(version=(1, 2, 0)))
    assert [seat.name for seat in read_replay(old).seats] == ["Anna", "Box"]
    tag = "\uff21\uff22".encode("shift_jis").ljust(16, b"\0")  # full width, as the game writes tags
    replay = synthetic(version=(3, 3, 0))
    parts = Parts(file_bytes(tmp_path, replay))
    parts.events[0] = parts.events[0][:0x161] + tag + parts.events[0][0x171:]
    assert read_replay(parts.bytes()).seats[0].name == "AB"


def test_connect_codes_come_from_the_start_event_or_the_metadata(tmp_path):
    for version in ((3, 9, 0), (3, 3, 0)):  # with and without a field for them
        replay = synthetic(version=version)
        first, second = replay.seats
        replay = dataclasses.replace(replay, seats=(dataclasses.replace(first, code="KIM#123"), second))
        data = file_bytes(tmp_path, replay)
        assert [seat.code for seat in read_replay(data).seats] == ["KIM#123", ""]
        assert ("KIM\uff03123".encode("shift_jis") in data) is (version == (3, 9, 0))


def test_stages_without_a_number_of_ours_are_read(tmp_path):
    replay = dataclasses.replace(synthetic(), external_stage=14)
    read = read_replay(file_bytes(tmp_path, replay))
    assert (read.stage, read.external_stage) == (-1, 14)


def test_short_events_of_other_kinds_are_skipped(made):
    replay, parts = made
    for command in (layout.ITEM, layout.FRAME_START, layout.FRAME_BOOKEND, layout.FOUNTAIN):
        parts.sizes[command] = 2
    parts.events = [e[: 1 + parts.sizes[e[0]]] for e in parts.events]
    read = read_replay(parts.bytes())
    assert_same(replay, read, skip=("path", "items", "timing", "absent"))
    assert {"items.x", "timing.random_seed", "timing.finalized_frame", "fod_platforms"} <= read.absent
