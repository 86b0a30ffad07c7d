"""Damaged .slp files give what is whole, and what is no game of one against one is refused."""

import struct

import numpy as np
import pytest

from selfplay_melee.errors import ReplayError
from selfplay_melee.replay import read_replay
from selfplay_melee.slp import container, layout
from tests.melee.slp_files import Parts, assert_same, file_bytes, synthetic
from tests.support.fakes import LFS_POINTER


@pytest.fixture
def made(tmp_path):
    """A replay, and its file in parts."""
    replay = synthetic()
    return replay, Parts(file_bytes(tmp_path, replay))


@pytest.mark.parametrize("missing", [1, 9, 200, 2000])
def test_a_truncated_file_gives_what_is_whole(made, missing):
    replay, parts = made
    length = len(parts.bytes()) - 15 - len(parts.tail)
    read = read_replay(parts.bytes()[: 15 + length - missing])
    count = len(read.pre)
    assert 0 < count <= len(replay.pre)
    np.testing.assert_array_equal(read.state.players["x"], replay.state.players["x"][:count])
    assert not read.complete
    assert read.end is None
    assert f"the last whole frame is {count - 1 - 123}" in read.problems


def test_a_file_in_progress_gives_what_is_whole(made):
    replay, parts = made
    data = parts.bytes(length=0)
    read = read_replay(data[: len(data) - len(parts.tail) - 7 - 100])
    assert 0 < len(read.pre) < len(replay.pre)
    assert "the file was still being written" in read.problems
    assert not read.complete


def test_a_length_that_was_never_filled_in_is_no_loss(made):
    replay, parts = made
    read = read_replay(parts.bytes(length=0))
    assert_same(replay, read, skip=("path", "problems"))
    assert read.complete


def test_a_file_without_an_end_has_all_its_frames(made):
    replay, parts = made
    del parts.events[-1]
    read = read_replay(parts.bytes())
    assert_same(replay, read, skip=("path", "problems", "end", "complete"))
    assert read.end is None
    assert not read.complete


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (b"", "no metadata"),
        (b"}", "no metadata"),
        (b"U\x08metadata{U\x01a", "the file ends within the metadata"),
        (b"U\x08metadata{U\x01a?}}", "unknown UBJSON marker"),
        (b"U\x08metadata" + b"{U\x01a" * 40, "deeper than"),
        (b"U\x08metadata[]", "no object"),
        (b"U\x08metadata{i\xffa}", "no whole number"),
        (b"U\x08metadata{l\x7f\xff\xff\xffa}", "ends within"),
        (b"U\x08metadata{" + b"U\x01aU\x01" * (container.MAX_METADATA_BYTES // 5) + b"}}", "longer than"),
    ],
)
def test_bad_metadata_is_a_problem_and_no_error(made, tail, reason):
    replay, parts = made
    parts.tail = tail
    read = read_replay(parts.bytes())
    assert_same(replay, read, skip=("path", "problems"))
    (problem,) = read.problems
    assert reason in problem


def test_metadata_of_all_kinds_are_decoded():
    data = b"U\x08metadata{U\x01ai\xffU\x01b[ZTFC?]U\x01cL" + struct.pack(">q", 2**40)
    data += b"U\x01dd" + struct.pack(">f", 0.5) + b"U\x01eI\xff\xffU\x01fSU\x02\xc3\xa4}"
    decoded = container.read_metadata(data, 0)
    assert decoded == {"a": -1, "b": [None, True, False, "?"], "c": 2**40, "d": 0.5, "e": -1, "f": "ä"}


def refused(data, offset, reason):
    with pytest.raises(ReplayError, match=reason) as caught:
        read_replay(data, name="it.slp")
    assert caught.value.file == "it.slp"
    assert caught.value.offset == offset
    assert str(caught.value).startswith(f"it.slp: byte {offset}: ")


@pytest.mark.parametrize("data", [b"", b"{U\x03raw", b"GIF89a" * 40, b"\0" * 4096, b"{U\x03raw[$U#l\0\0"])
def test_garbage_is_refused(data):
    refused(data, 0, "not a .slp file")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04\x14\0", "it is a zip archive: unpack it first"),
        (b"\x1f\x8b\x08", "it is an archive of gzip: unpack it first"),
        (b"\r\n<!doctype HTML><title>GitHub</title>", "it is a web page: download the file that the page shows"),
    ],
)
def test_files_of_another_kind_are_named(data, what):
    refused(data, 0, f"not a .slp file; {what}$")


def test_streams_without_sizes_or_start_are_refused(made):
    _, parts = made
    data = parts.bytes()
    refused(data[:15], 15, "table of event sizes is missing")
    refused(data[:15] + b"\x36" + data[16:], 15, "table of event sizes is missing")
    refused(data[:16] + b"\x03" + data[17:], 16, "table of event sizes of 3 bytes")
    refused(data[:30], 16, "table of event sizes")
    first = 16 + data[16]
    refused(data[: first + 3], first, "game start event is missing")
    refused(data[: first + 100], first + 100, "ends within the game start event")
    del parts.events[0]
    refused(parts.bytes(), first, "game start event is missing")


@pytest.mark.parametrize("command", [layout.GAME_START, layout.PRE_FRAME, layout.POST_FRAME, layout.GAME_END])
def test_events_that_are_too_short_are_refused(made, command):
    _, parts = made
    first = 16 + parts.bytes()[16]
    parts.sizes[command] = 5 if command != layout.GAME_END else 0
    refused(parts.bytes(), first, "declared for event")
    del parts.sizes[command]
    is_start = command == layout.GAME_START
    refused(parts.bytes(), first - 3, "start event is missing" if is_start else "no size declared for event")


def test_old_versions_are_refused(made):
    _, parts = made
    parts.events[0] = parts.events[0][:1] + b"\0\1\0" + parts.events[0][4:]
    refused(parts.bytes(), 16 + parts.bytes()[16] + 1, "version 0.1.0 is too old")


@pytest.mark.parametrize("kinds", [(0, 3, 3, 3), (0, 0, 1, 3), (0, 0, 0, 0), (3, 3, 3, 3)])
def test_games_of_other_than_two_are_refused(made, kinds):
    _, parts = made
    start = bytearray(parts.events[0])
    for port, kind in enumerate(kinds):
        start[0x66 + 0x24 * port] = kind
    parts.events[0] = bytes(start)
    refused(parts.bytes(), 16 + parts.bytes()[16] + 0x65, f"a game of {sum(k < 3 for k in kinds)} players")


def test_files_that_are_too_large_are_refused(made, monkeypatch):
    _, parts = made
    data = parts.bytes()
    monkeypatch.setattr("selfplay_melee.slp.stream.MAX_FILE_BYTES", len(data))
    read_replay(data)
    refused(data + b"\0", len(data), "larger than")


def test_a_pointer_of_git_lfs_is_told(tmp_path):
    (tmp_path / "a.slp").write_bytes(LFS_POINTER)
    with pytest.raises(ReplayError, match=r"a\.slp: is a Git LFS pointer .* `git lfs pull`"):
        read_replay(tmp_path / "a.slp")


def test_a_missing_file_is_an_error_with_its_name(tmp_path):
    with pytest.raises(ReplayError, match=r"gone.slp: No such file"):
        read_replay(tmp_path / "gone.slp")
