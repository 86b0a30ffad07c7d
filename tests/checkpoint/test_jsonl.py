"""Rows survive crashes of their writer."""

from pathlib import Path

import pytest

from selfplay.checkpoint import JsonLines
from selfplay.errors import CheckpointError, CorruptError
from tests.checkpoint.samples import full_disk


@pytest.fixture
def lines(tmp_path):
    return JsonLines(tmp_path / "metrics.jsonl")


def fill(lines, count=4):
    for i in range(1, count + 1):
        lines.append({"iteration": i, "loss": i / 3})


def iterations(lines):
    return [row["iteration"] for row in lines.read()]


def test_rows_come_back(lines):
    assert lines.read() == []
    fill(lines, 2)
    assert lines.read() == [{"iteration": 1, "loss": 1 / 3}, {"iteration": 2, "loss": 2 / 3}]


def test_a_row_torn_anywhere_costs_itself_only(lines):
    fill(lines)
    data = lines.path.read_bytes()
    last = data.rindex(b"\n", 0, -1) + 1
    for size in range(last, len(data) - 1):
        lines.path.write_bytes(data[:size])
        assert iterations(lines) == [1, 2, 3]
    lines.path.write_bytes(data[:-1])  # a row counts once its newline is there
    assert iterations(lines) == [1, 2, 3]


@pytest.mark.parametrize("torn", [b"{", b'{"iteration": 3, "lo', b"\0" * 5000, b'{"iteration": 3}'])
def test_a_torn_row_makes_room_for_the_next(lines, torn):
    for rows in (0, 2):
        lines.path.unlink(missing_ok=True)
        fill(lines, rows)
        with lines.path.open("ab") as file:
            file.write(torn)
        lines.append({"iteration": 4})
        assert iterations(lines) == [*[1, 2][:rows], 4]


def test_a_bad_row_in_the_middle_is_named(lines):
    fill(lines, 2)
    with lines.path.open("ab") as file:
        file.write(b"?\n")
    fill(lines, 1)
    with pytest.raises(CorruptError, match=r"metrics\.jsonl, line 3"):
        lines.read()


def test_resuming_drops_what_came_after(lines):
    assert lines.truncate(0) == 0
    fill(lines)
    assert lines.truncate(4) == 0
    assert lines.truncate(2) == 2
    assert iterations(lines) == [1, 2]
    fill(lines, 1)
    assert iterations(lines) == [1, 2, 1]


@pytest.mark.parametrize(
    "bad", [b"\0" * 4096, b"[1]", b'{"loss": 1}', b'{"iteration": "x"}', b'{"iteration": NaN}', b"\xff"]
)
def test_rows_without_an_iteration_go_on_resume(lines, bad):
    fill(lines, 2)
    with lines.path.open("ab") as file:
        file.write(bad + b"\n")
    assert lines.truncate(2) == 1
    assert iterations(lines) == [1, 2]


def test_what_cannot_be_written_is_told_and_leaves_no_trace(lines):
    fill(lines, 1)
    with pytest.raises(CheckpointError, match=r"cannot append to .*metrics\.jsonl"):
        lines.append({"loss": float("nan")})
    assert iterations(lines) == [1]
    fill(lines, 2)
    with full_disk("write", 0), pytest.raises(CheckpointError, match="No space left"):
        lines.truncate(1)
    assert iterations(lines) == [1, 1, 2]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told(lines):
    lines.path.symlink_to("/dev/full")
    with pytest.raises(CheckpointError, match="cannot append to"):
        lines.append({"iteration": 1})
