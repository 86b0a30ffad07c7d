"""Of a piece that the disk refuses nothing stays, whatever it refuses, and the next piece stands where it should."""

import errno
import os

import pytest

from selfplay.appending import Appender
from selfplay.errors import DiskError


def refuse(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def halves(monkeypatch):
    """A disk that takes half of what it is given, and then nothing."""
    real, given = os.write, []

    def half(descriptor, data):
        given.append(data)
        return real(descriptor, bytes(data[: len(data) // 2])) if len(given) == 1 else refuse()

    monkeypatch.setattr(os, "write", half)


def test_pieces_stand_one_behind_the_other(tmp_path):
    for piece in (b"one\n", b"two\n"):
        file = Appender.open(tmp_path / "file")
        file.write(piece)
        file.close()
        file.close()
    assert (tmp_path / "file").read_bytes() == b"one\ntwo\n"
    assert file.size == 8


def test_a_disk_may_take_less_than_it_is_given(tmp_path, monkeypatch):
    file, real = Appender.open(tmp_path / "file"), os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data[:2])))
    file.write(b"abcde")
    file.close()
    assert (tmp_path / "file").read_bytes() == b"abcde"


@pytest.mark.parametrize("stuck", [False, True])
def test_nothing_stays_of_what_was_refused(tmp_path, monkeypatch, stuck):
    """Where not even cutting works, the part goes before the next piece comes."""
    file = Appender.open(tmp_path / "file")
    file.write(b"one\n")
    with monkeypatch.context() as patch:
        halves(patch)
        if stuck:
            patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(DiskError, match=r"cannot write .*file: OSError: .*No space left"):
            file.write(b"three\n")
        assert (tmp_path / "file").read_bytes() == (b"one\nthr" if stuck else b"one\n")
    file.write(b"two\n")
    file.close()
    assert (tmp_path / "file").read_bytes() == b"one\ntwo\n"


def test_what_was_not_flushed_is_not_there(tmp_path, monkeypatch):
    file = Appender.open(tmp_path / "file")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        file.write(b"one\n")
        with pytest.raises(DiskError):
            file.write(b"two\n", sync=True)
    file.write(b"three\n", sync=True)
    file.close()
    assert (tmp_path / "file").read_bytes() == b"one\nthree\n"


def test_a_file_that_cannot_be_made_is_named(tmp_path):
    with pytest.raises(DiskError, match=r"cannot open .*nowhere.*No such file"):
        Appender.open(tmp_path / "nowhere" / "file")
