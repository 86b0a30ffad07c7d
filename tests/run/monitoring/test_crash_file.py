"""A file of crashes: bounded, and read as if a stranger had written it."""

import errno
import os
from datetime import UTC, datetime

import pytest

from selfplay.errors import CheckpointError, CorruptError
from selfplay.report.tree_status import Crash
from selfplay.run.monitoring import crash_file
from selfplay.run.monitoring.crash_file import append_crash, read_crashes


def crash(number, message="broken"):
    return Crash(
        time=datetime(2026, 1, 1, tzinfo=UTC), id="root/a", incarnation=number, kind="error", started=True,
        restarts=0, lived_s=1.5, message=message, first_cause=message,
    )  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "crashes.jsonl"


def numbers(path, count=100):
    found, unreadable = read_crashes(path, count)
    return [each.incarnation for each in found], unreadable


def test_the_newest_come_first_and_are_as_they_were(path):
    assert read_crashes(path, 9) == ([], 0)
    for number in (1, 2, 3):
        append_crash(path, crash(number))
    assert numbers(path) == ([3, 2, 1], 0)
    assert numbers(path, 2) == ([3, 2], 0)
    assert read_crashes(path, 1)[0] == [crash(3)]


def test_a_line_that_was_torn_costs_no_other(path):
    append_crash(path, crash(1))
    append_crash(path, crash(2))
    os.truncate(path, path.stat().st_size - 20)
    append_crash(path, crash(3))
    assert numbers(path) == ([3, 1], 1)


def test_a_full_file_loses_its_older_half(path, monkeypatch):
    monkeypatch.setattr(crash_file, "FULL", 5000)
    for number in range(1, 200):
        append_crash(path, crash(number))
        assert path.stat().st_size <= 5000
        assert numbers(path, 1) == ([number], 0)
    found, unreadable = numbers(path)
    assert unreadable == 0
    assert found == list(range(199, 199 - len(found), -1))
    assert len(found) >= 8


def test_what_is_no_crash_is_counted(path):
    append_crash(path, crash(1))
    with path.open("ab") as file:
        file.write(b'{"time": "yesterday"}\n[]\n\xff\xfe\n{"a": NaN}\n')
    append_crash(path, crash(2))
    assert numbers(path) == ([2, 1], 4)


def test_more_than_is_ever_written_is_not_read(path, monkeypatch):
    monkeypatch.setattr(crash_file, "LIMIT", 100)
    append_crash(path, crash(1))
    with pytest.raises(CorruptError, match=r"crashes\.jsonl has \d+ bytes, the limit is 100"):
        read_crashes(path, 1)


def test_links_and_pipes_are_neither_written_nor_read(path, tmp_path):
    other = tmp_path / "other"
    other.write_text("mine\n")
    path.symlink_to(other)
    with pytest.raises(CheckpointError):
        append_crash(path, crash(1))
    with pytest.raises(CheckpointError):
        read_crashes(path, 1)
    assert other.read_text() == "mine\n"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(CheckpointError):
        append_crash(path, crash(1))
    with pytest.raises(CheckpointError):
        read_crashes(path, 1)


def test_a_line_that_the_disk_took_in_part_is_not_written(path, monkeypatch):
    append_crash(path, crash(1))
    whole, write = path.read_bytes(), os.write

    def until_full(handle, data):
        if os.fstat(handle).st_size > len(whole):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(handle, data[:10])

    monkeypatch.setattr(crash_file.os, "write", until_full)
    with pytest.raises(CheckpointError, match="No space left"):
        append_crash(path, crash(2))
    assert path.read_bytes() == whole
