"""Folders are written whole or not at all, and read back with suspicion."""

import contextlib
import itertools
import os
import tracemalloc
from pathlib import Path

import pytest

from selfplay.checkpoint import store
from selfplay.checkpoint.store import (
    MANIFEST,
    fill_folder,
    open_folder,
    recover,
    remove_folder,
    write_file,
    write_folder,
)
from selfplay.errors import CheckpointError, CorruptError, DiskError, ImmutableError, NotARunError
from selfplay.files import read_file
from tests.checkpoint.samples import Crash, crash_at, files_of, full_disk
from tests.support.processes import finish

OLD = {"a.json": b"old" * 400, "b.bin": b"\0" * 5000}
NEW = {"a.json": b"new" * 500, "b.bin": b"\1" * 4000, "empty": b""}


def content(path: Path) -> dict[str, bytes] | None:
    if not path.exists():
        return None
    folder = open_folder(path)
    return {name: folder.read(name) for name in folder.manifest.files}


def visible(parent: Path) -> list[str]:
    return sorted(entry.name for entry in parent.iterdir())


def test_a_folder_comes_back_as_it_was_written(tmp_path):
    path = write_folder(tmp_path / "deep" / "down" / "folder", NEW)
    assert content(path) == NEW
    open_folder(path).verify()
    assert visible(path.parent) == ["folder"]


def test_an_existing_folder_is_not_overwritten_unless_asked(tmp_path):
    path = write_folder(tmp_path / "folder", OLD)
    with pytest.raises(ImmutableError, match="never overwritten"):
        write_folder(path, NEW)
    assert content(path) == OLD
    write_folder(path, NEW, replace=True)
    assert content(path) == NEW
    assert visible(tmp_path) == ["folder"]


@pytest.mark.parametrize("exists", [False, True])
def test_a_crash_at_any_step_leaves_the_old_state_or_the_new_one(tmp_path, exists):
    before = OLD if exists else None
    outcomes = []
    for step in range(200):
        parent = tmp_path / str(step)
        parent.mkdir()
        path = parent / "folder"
        if exists:
            write_folder(path, OLD)
        try:
            with crash_at(step):
                write_folder(path, NEW, replace=True)
        except Crash:
            recover(parent)
            outcomes.append(content(path))
            assert outcomes[-1] in (before, NEW)
            assert visible(parent) in ([], ["folder"])  # nothing is left behind
            assert content(write_folder(path, NEW, replace=True)) == NEW  # and the next write works
        else:
            break
    assert step > 10, "the crash must have hit many steps"
    assert before in outcomes
    assert NEW in outcomes
    assert outcomes == sorted(outcomes, key=lambda outcome: outcome == NEW)  # never back to the old state


def test_nothing_becomes_visible_before_it_is_on_the_disk(tmp_path):
    with crash_at(10**6) as begun:
        write_folder(tmp_path / "folder", NEW)
    commit = begun.index("rename")
    assert begun[:commit].count("fsync") == len(NEW) + 2  # every file, the manifest, the folder
    assert "fsync" in begun[commit:]  # the parent
    last_write = max(i for i, name in enumerate(begun) if name == "write")
    assert begun[last_write + 1 : commit].count("fsync") == 2  # the manifest is written last


@pytest.mark.parametrize("operation", ["write", "fsync", "mkdir", "rename"])
def test_a_full_disk_is_loud_and_changes_nothing(tmp_path, operation):
    path = write_folder(tmp_path / "folder", OLD)
    for step in itertools.count():
        error = failure(operation, step, path)
        if error is None:
            break
        assert "No space left" in str(error)
        assert str(path) in str(error)
        assert isinstance(error, DiskError)
        assert isinstance(error.__cause__, OSError)
        if operation != "rename":  # where even renaming fails, the old folder waits under its other name
            assert visible(tmp_path) == ["folder"]
        recover(tmp_path)
        assert content(path) == OLD
    assert step > 0
    assert content(path) == NEW


@pytest.mark.parametrize("told", ["Error while serializing: I/O error: No space left on device (os error 28)", "a bug"])
def test_what_other_libraries_say_of_a_full_disk_is_understood(tmp_path, told):
    def fill(folder):
        raise RuntimeError(told)  # those in Rust have errors of their own

    with pytest.raises(CheckpointError, match=r"cannot write .*folder") as caught:
        fill_folder(tmp_path / "folder", fill)
    assert isinstance(caught.value, DiskError) == ("os error" in told)
    assert visible(tmp_path) == []


def failure(operation: str, step: int, path: Path) -> CheckpointError | None:
    """The error of replacing a folder while the disk is full from the given call of an operation on."""
    try:
        with full_disk(operation, step):
            write_folder(path, NEW, replace=True)
    except CheckpointError as error:
        return error
    return None


def test_a_disk_may_take_less_than_it_is_given(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:100]))
    assert content(write_folder(tmp_path / "folder", NEW)) == NEW


def test_a_really_full_disk(tmp_path):
    mounted = finish(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(tmp_path)])
    if mounted.returncode != 0:
        pytest.skip("only root may mount a small disk")
    try:
        path = write_folder(tmp_path / "folder", OLD)
        with pytest.raises(CheckpointError, match="No space left"):
            write_folder(path, {"big": b"x" * 2**20}, replace=True)
        assert content(path) == OLD
        assert visible(tmp_path) == ["folder"]
        write_folder(path, NEW, replace=True)
        assert content(path) == NEW
    finally:
        finish(["umount", str(tmp_path)], check=True)


def test_writing_twice_without_recovery_still_ends_well(tmp_path):
    path = tmp_path / "folder"
    for step in range(50):
        with contextlib.suppress(Crash), crash_at(step):
            write_folder(path, OLD, replace=True)
        if step % 7 == 6:
            write_folder(path, OLD, replace=True)
    assert content(write_folder(path, NEW, replace=True)) == NEW
    assert visible(tmp_path) == ["folder"]


def test_removing_is_atomic_too(tmp_path):
    for step in range(50):
        path = write_folder(tmp_path / f"folder-{step}", OLD)
        try:
            with crash_at(step):
                remove_folder(path)
        except Crash:
            assert content(path) in (OLD, None)
            recover(tmp_path)
            assert content(path) in (OLD, None)
        else:
            break
    assert step > 2
    assert not path.exists()


def test_one_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "run.json"
    write_file(path, b"old")
    seen = set()
    for step in range(50):
        write_file(path, b"old")
        try:
            with crash_at(step):
                write_file(path, b"newer")
        except Crash:
            seen.add(read_file(path, 100))
        else:
            break
    recover(tmp_path)
    assert seen == {b"old", b"newer"}
    assert visible(tmp_path) == ["run.json"]


@pytest.mark.parametrize("operation", ["write", "fsync", "replace"])
def test_a_full_disk_keeps_the_old_file(tmp_path, operation):
    write_file(tmp_path / "run.json", b"old")
    with full_disk(operation, 0), pytest.raises(CheckpointError, match=r"cannot write .*run\.json.*No space left"):
        write_file(tmp_path / "run.json", b"new")
    assert read_file(tmp_path / "run.json", 100) == b"old"
    assert visible(tmp_path) == ["run.json"]


@pytest.mark.parametrize("damage", ["flip", "truncate", "extend", "delete"])
def test_every_damaged_file_is_noticed_and_named(tmp_path, damage):
    for victim in range(len(NEW)):
        path = write_folder(tmp_path / f"{damage}-{victim}", NEW)
        file = path / sorted(NEW)[victim]
        data = file.read_bytes()
        if not data and damage in ("flip", "truncate"):
            continue
        if damage == "delete":
            file.unlink()
        else:
            middle = len(data) // 2
            flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :] if data else data
            file.write_bytes({"flip": flipped, "truncate": data[:-1], "extend": data + b"x"}[damage])
        with pytest.raises(CorruptError, match=str(file)):
            open_folder(path).verify()
        with pytest.raises(CorruptError, match=str(file)):
            open_folder(path).read(file.name)


@pytest.mark.parametrize("mask", [0x01, 0x20, 0x80])
def test_every_damaged_byte_of_the_manifest_is_noticed(tmp_path, mask):
    path = write_folder(tmp_path / "folder", OLD)
    file = path / MANIFEST
    data = file.read_bytes()
    for i in range(len(data)):
        file.write_bytes(data[:i] + bytes([data[i] ^ mask]) + data[i + 1 :])
        with pytest.raises(CorruptError, match=str(path)):
            open_folder(path).verify()
    for size in range(len(data) - 1):
        file.write_bytes(data[:size])
        with pytest.raises(CorruptError, match=MANIFEST):
            open_folder(path)


def test_a_folder_without_manifest_is_no_checkpoint(tmp_path):
    with pytest.raises(NotARunError, match="no such folder"):
        open_folder(tmp_path / "nothing")
    with pytest.raises(CorruptError, match=r"MANIFEST\.json.*No such file"):
        open_folder(tmp_path)


@pytest.mark.parametrize("name", [*sorted(OLD), MANIFEST])
def test_links_are_not_followed(tmp_path, name):
    path = write_folder(tmp_path / "folder", OLD)
    outside = tmp_path / "outside"
    (path / name).rename(outside)
    (path / name).symlink_to(outside)
    with pytest.raises(CorruptError, match=f"{name} is a link"):
        open_folder(path).verify()


def test_a_pipe_neither_blocks_nor_passes(tmp_path):
    path = write_folder(tmp_path / "folder", OLD)
    (path / "a.json").unlink()
    os.mkfifo(path / "a.json")
    with pytest.raises(CorruptError, match="not a plain file"):
        open_folder(path).verify()


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "sub/file", "..", ".hidden", "", "a" * 200, "a\nb"])
def test_names_that_leave_the_folder_are_refused(tmp_path, name):
    (tmp_path / "secret").write_bytes(b"")
    with pytest.raises(CheckpointError):
        write_folder(tmp_path / "written", {name: b""})
    path = write_folder(tmp_path / "folder", {"placeholder": b""})
    text = (path / MANIFEST).read_text().replace("placeholder", name.replace("\n", "\\n"))
    (path / MANIFEST).write_text(text)
    with pytest.raises(CorruptError, match=MANIFEST):
        open_folder(path)


def test_sizes_are_limited_before_anything_is_read(tmp_path):
    path = write_folder(tmp_path / "folder", {"a": b"1"})
    text = (path / MANIFEST).read_text()
    tracemalloc.start()
    try:
        (path / MANIFEST).write_text(text.replace('"bytes": 1', f'"bytes": {10**12}'))
        with pytest.raises(CorruptError, match="bytes"):
            open_folder(path)
        (path / MANIFEST).write_text(text)
        os.truncate(path / "a", 10**11)  # takes no space
        with pytest.raises(CorruptError, match="the manifest says 1"):
            open_folder(path).read("a")
        os.truncate(path / MANIFEST, 10**10)
        with pytest.raises(CorruptError, match="the limit is"):
            open_folder(path)
        with pytest.raises(CorruptError, match="the limit is 10"):
            read_file(path / "a", 10)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def test_a_file_may_be_limited_further_by_its_reader(tmp_path):
    path = write_folder(tmp_path / "folder", OLD)
    with pytest.raises(CorruptError, match="the limit is 10"):
        open_folder(path).read("a.json", limit=10)
    with pytest.raises(CorruptError, match="not in the manifest"):
        open_folder(path).read("unknown")


def test_too_many_files_are_refused(tmp_path):
    with pytest.raises(CheckpointError):
        write_folder(tmp_path / "folder", {f"f{i}": b"" for i in range(store.MAX_FILES + 1)})


def test_recovery_leaves_everything_else_alone(tmp_path):
    path = write_folder(tmp_path / "folder", OLD)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".hidden").write_text("mine")
    (tmp_path / ".tmp-link").symlink_to(path)
    recover(tmp_path)
    recover(tmp_path / "missing")
    assert visible(tmp_path) == [".hidden", "folder", "notes.txt"]
    assert content(path) == OLD
    assert files_of(path)
