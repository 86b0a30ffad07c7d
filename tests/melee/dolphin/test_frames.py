"""The reader of running games beside the reader of files, on the bytes of real games and of the mock's."""

import struct

import numpy as np
import pytest

from scripts.studies.bench.replays import write_games
from selfplay_melee.dolphin.conversions import differences
from selfplay_melee.dolphin.frames import OLDEST, FrameReader
from selfplay_melee.errors import DolphinError
from selfplay_melee.replay import read_replay
from selfplay_melee.slp import layout
from selfplay_melee.slp.stream import open_stream
from tests.melee.slp_files import REAL as FOLDER
from tests.melee.slp_files import needs_real_files
from tests.support.cases import first_alone

REAL = (
    "falco_falco_YS_v3.15_rollback",
    "marth_falcocpu_FD_v3.13",
    "marth_falconcpu_FoD_v3.18",
    "mewtwo_fox_FD_v3.19.1",
    "sheik_mewtwo_BF_v3.16_ranked",
)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A game of the mock as a file."""
    return write_games(tmp_path_factory.mktemp("own"), games=1, frames=300)[0]


def messages(path):
    """The events of a file, cut where Dolphin would send them."""
    opened = open_stream(path.read_bytes(), str(path))
    body = opened.data[opened.stream.begin : opened.found.end]
    start, at = 0, 1 + body[1]
    while at < len(body):
        command = body[at]
        at += 1 + int(opened.sizes[command])
        if command in (layout.GAME_START, layout.FRAME_BOOKEND, layout.GAME_END):
            yield body[start:at]
            start = at


def read_all(path):
    """What the reader has after each new frame, and the reader."""
    reader, frames = FrameReader(), []
    for message in messages(path):
        if reader.feed(message):
            state = reader.state
            frames.append((state.game[0].copy(), state.players[0].copy(), state.controllers[0].copy()))
    return [np.array(part) for part in zip(*frames, strict=True)], reader


@needs_real_files
@pytest.mark.parametrize("name", REAL)
def test_it_reads_what_the_reader_of_files_reads(name):
    path = FOLDER / f"{name}.slp"
    (game, players, controllers), reader = read_all(path)
    replay = read_replay(path)
    once = ~replay.rolled_back  # of the others a file's last version counts, and of a running game's the first
    assert once.mean() > 0.6
    for ours, theirs in (
        (game, replay.state.game),
        (players, replay.state.players),
        (controllers, replay.state.controllers),
    ):
        for column in ours.dtype.names:
            np.testing.assert_array_equal(ours[column][once], theirs[column][once], err_msg=column)
    assert reader.end == replay.end


def test_of_a_frame_that_is_sent_again_the_first_version_counts(own):
    sent = list(messages(own))
    reader = FrameReader()
    for message in sent[:11]:
        reader.feed(message)
    before = reader.state.players.copy()
    assert reader.feed(sent[10]) is False
    assert reader.feed(sent[5]) is False
    np.testing.assert_array_equal(reader.state.players, before)
    assert reader.feed(sent[11]) is True


def test_several_games_and_split_messages(own):
    reader = FrameReader()
    for _ in range(2):
        whole = b"".join(messages(own))
        table = 2 + whole[1] - 1
        assert reader.feed(whole[:table]) is None
        for message in [whole[table:][: len(next(iter(messages(own)))) - table], *list(messages(own))[1:]]:
            reader.feed(message)
        assert reader.frame == 300
        assert reader.end is not None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m[3] + b"\x99\x01\x02", "no events"),
        (lambda m: m[3][:-7], "a part of an event 0x3c"),
        (lambda m: b"\x35", "no events"),
        (lambda m: m[3][m[3].index(0x38, 70) :], "without the events of both players"),
        (lambda m: b"\xff" * 40, "no events"),
    ],
    ids=["unknown", "cut", "table", "half a frame", "garbage"],
)
def test_what_is_no_game_is_refused(own, change, words):
    sent = list(messages(own))
    reader = FrameReader()
    for message in sent[:3]:
        reader.feed(message)
    with pytest.raises(DolphinError, match=words):
        reader.feed(change(sent))


def test_menus_end_what_is_read_of_a_message(own):
    """Dolphin is known to send menus as events of a game."""
    sent, reader = list(messages(own)), FrameReader()
    assert [reader.feed(message) for message in sent[:2]] == [None, True]
    assert reader.feed(sent[2] + b"\x3e" + bytes(73)) is True
    assert reader.feed(b"\x3e" + bytes(73)) is None


def test_games_frames_and_ends_are_counted(own):
    sent, reader = list(messages(own)), FrameReader()
    assert (reader.games, reader.frames, reader.first, reader.end) == (0, 0, None, None)
    for game in (1, 2):
        reader.feed(sent[0])
        assert (reader.games, reader.first) == (game, None)
        for message in sent[1:]:
            reader.feed(message)
        assert reader.first == 1  # the mock's own files begin at GO
        assert reader.frames == game * reader.frame
        assert reader.end is not None  # also once the next has begun


def test_an_old_version_is_refused_by_name(own):
    first = next(iter(messages(own)))
    table = 1 + first[1]
    old = first[:table] + b"\x36\x02\x00\x01" + first[table + 4 :]
    with pytest.raises(DolphinError, match=r"Slippi 2\.0\.1 is too old, 3\.8\.0 or newer"):
        FrameReader().feed(old)
    assert OLDEST == (3, 8, 0)


def test_a_game_of_three_is_refused(own):
    first = bytearray(next(iter(messages(own))))
    table = 1 + first[1]
    first[table + 0x65 + 2 * 0x24 + 1] = 0  # the third port is a person's
    with pytest.raises(DolphinError, match="a game of 3 players began"):
        FrameReader().feed(bytes(first))


def test_events_that_lack_fields_are_refused(own):
    first = bytearray(next(iter(messages(own))))
    at = first.index(struct.pack(">BH", 0x38, layout.size_of(layout.POST_FIELDS, (3, 18, 0))))
    first[at : at + 3] = struct.pack(">BH", 0x38, 0x20)
    with pytest.raises(DolphinError, match="events 0x38 that lack fields"):
        FrameReader().feed(bytes(first))


@needs_real_files
@pytest.mark.parametrize("name", first_alone([name for name in REAL if "3.18" not in name and "3.19" not in name]))
def test_libmelee_differs_from_it_by_the_table_alone(name):
    melee = pytest.importorskip("melee", reason="libmelee is not installed")
    path = FOLDER / f"{name}.slp"
    console = melee.Console(path=str(path), is_dolphin=False, allow_old_version=True)
    assert console.connect()
    reader, sent, found, frames = FrameReader(), messages(path), [], 0
    for message in sent:
        if reader.feed(message):
            theirs = console.step()
            assert theirs.frame == reader.frame
            ports = tuple(port.port for port in reader.start.ports)
            found += differences(reader.state, ports, theirs, console.zero_indices)
            frames += 1
    assert found == []
    assert frames > 5000
