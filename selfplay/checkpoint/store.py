"""Folders that are written whole or not at all, and verified when they are read.

A folder NAME is prepared as ``.tmp-NAME``: every file is written and flushed to disk, ``MANIFEST.json`` (size and
sha256 of every file) last, then the folder itself; one rename makes it visible, and the parent is flushed. So a crash
or a full disk at any moment leaves the old state or the new one. A folder that replaces another sets the old one
aside as ``.old-NAME`` until the new one stands; ``recover`` clears what a crash left behind and puts an old folder
back if its successor never arrived.

Reading trusts nothing: names, sizes and hashes are checked before a byte is interpreted, and links are not followed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from envs.files import chunks
from selfplay.checkpoint.documents import decode_json, encode_json, parse, refuse_newer
from selfplay.errors import (
    CheckpointError,
    CorruptError,
    DiskError,
    ImmutableError,
    NotARunError,
    SelfPlayError,
    boundary,
    describe,
)
from selfplay.files import opened, read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

MANIFEST: Final = "MANIFEST.json"
MANIFEST_VERSION: Final = 1
MAX_FILES: Final = 256
MAX_FILE_BYTES: Final = 4 * 2**30
MAX_MANIFEST_BYTES: Final = 2**20
RUST_OS_ERROR: Final = "(os error "  # in the message of a safetensors or tokenizers that could not write
_TMP, _OLD, _TRASH = ".tmp-", ".old-", ".tmp-trash-"

FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class FileEntry(BaseModel):
    """What the manifest promises about one file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bytes: int = Field(ge=0, le=MAX_FILE_BYTES)
    sha256: Sha256


class Manifest(BaseModel):
    """The files of a folder; written last, so a folder that has one was written to its end."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: int = Field(ge=1, le=MANIFEST_VERSION)
    files: dict[FileName, FileEntry] = Field(max_length=MAX_FILES)


@dataclass(frozen=True, slots=True)
class StoredFolder:
    """A folder whose manifest has been read; each file is verified when it is read."""

    path: Path
    manifest: Manifest

    def read(self, name: str, limit: int = MAX_FILE_BYTES) -> bytes:
        """The content of a file of at most ``limit`` bytes, after size and sha256 agreed with the manifest."""
        entry = self.manifest.files.get(name)
        if entry is None:
            raise CorruptError(f"{self.path / name}: the manifest of the folder does not list this file")
        if entry.bytes > limit:
            raise CorruptError(f"{self.path / name}: {entry.bytes} bytes, the limit is {limit}")
        with _opened(self.path / name, entry.bytes) as handle:
            data = b"".join(chunks(handle, entry.bytes))
        _check(self.path / name, entry, hashlib.sha256(data).hexdigest())
        return data

    def verify(self) -> None:
        """Read every file through, without keeping it; CorruptError names the first bad one."""
        for name, entry in self.manifest.files.items():
            digest = hashlib.sha256()
            with _opened(self.path / name, entry.bytes) as handle:
                for chunk in chunks(handle, entry.bytes):
                    digest.update(chunk)
            _check(self.path / name, entry, digest.hexdigest())


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Convert what a disk refuses to DiskError, and anything else that fails to CheckpointError."""
    with boundary(CheckpointError, what):
        try:
            yield
        except SelfPlayError:
            raise
        except Exception as error:
            if isinstance(error, OSError) or RUST_OS_ERROR in str(error):
                raise DiskError(f"{what}: {describe(error)}") from error
            raise


def open_folder(path: Path) -> StoredFolder:
    """Read the manifest of a folder that ``write_folder`` made.

    Raises:
        NotARunError: no such folder.
        CorruptError: without a manifest, or with a damaged one.
        IncompatibleError: of a newer format, which is no damage: nothing older takes its place.
    """
    if not path.is_dir():
        raise NotARunError(f"{path}: no such folder")
    file = path / MANIFEST
    document = decode_json(read_file(file, MAX_MANIFEST_BYTES), str(file))
    refuse_newer(document.get("format_version"), MANIFEST_VERSION, str(file))
    return StoredFolder(path, parse(Manifest, document, str(file), CorruptError))


def write_folder(path: Path, files: Mapping[str, bytes], replace: bool = False) -> Path:
    """Write ``files`` by name as the folder ``path``, atomically.

    Raises:
        ImmutableError, CheckpointError: see ``fill_folder``.
    """

    def fill(folder: Path) -> None:
        for name, data in files.items():
            _write_file(folder / name, data, flush=False)

    return fill_folder(path, fill, replace)


def fill_folder(path: Path, fill: Callable[[Path], object], replace: bool = False) -> Path:
    """Write the folder ``path`` atomically; ``fill`` is given an empty one, and puts plain files into it.

    They need not be flushed; that is done here.

    Raises:
        ImmutableError: the folder exists and is not to be replaced.
        DiskError: the disk is full or refuses; what was there before is untouched, nothing new is left.
        CheckpointError: ``fill`` failed for another reason; likewise.
    """
    if not replace and path.exists():
        raise ImmutableError(f"{path} exists and is never overwritten")
    temporary = path.parent / f"{_TMP}{path.name}"
    with writing(f"cannot write {path}"):
        try:
            make_folder(path.parent)
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            fill(temporary)
            _write_file(temporary / MANIFEST, _manifest(temporary))
            _sync_folder(temporary)
            _swap_in(temporary, path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            _restore(path)
            raise
    return path


def write_file(path: Path, data: bytes) -> None:
    """Write one file atomically: a reader sees the old content or the new one, never a part."""
    temporary = path.parent / f"{_TMP}{path.name}"
    with writing(f"cannot write {path}"):
        try:
            make_folder(path.parent)
            temporary.unlink(missing_ok=True)
            _write_file(temporary, data)
            os.replace(temporary, path)
            _sync_folder(path.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def make_folder(path: Path) -> None:
    """Make a folder and its missing parents, so that they outlive a power loss; an existing one is left alone."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    _sync_folder(path.parent)


def remove_folder(path: Path) -> None:
    """Remove a folder so that a crash halfway leaves nothing that looks like it."""
    trash = path.parent / f"{_TRASH}{path.name}"
    with writing(f"cannot remove {path}"):
        shutil.rmtree(trash, ignore_errors=True)
        os.rename(path, trash)
        shutil.rmtree(trash)


def recover(parent: Path) -> None:
    """Clear what crashed writes left in ``parent``; only its one writer may call this."""
    if not parent.is_dir():
        return
    with boundary(CheckpointError, f"cannot clean {parent}"):
        for entry in sorted(parent.iterdir()):
            if entry.name.startswith(_OLD):
                _restore(parent / entry.name.removeprefix(_OLD))
            elif entry.name.startswith(_TMP):
                _remove(entry)


def _manifest(folder: Path) -> bytes:
    """Of all files in a folder, which are flushed to disk first."""
    entries = {}
    for file in sorted(folder.iterdir()):
        _flush(file)
        digest, size = hashlib.sha256(), 0
        with opened(file) as handle:
            for chunk in chunks(handle, MAX_FILE_BYTES):
                digest.update(chunk)
                size += len(chunk)
        entries[file.name] = FileEntry(bytes=size, sha256=digest.hexdigest())
    return encode_json(Manifest(format_version=MANIFEST_VERSION, files=entries).model_dump(mode="json"), MANIFEST)


def _swap_in(temporary: Path, path: Path) -> None:
    """The commit: ``temporary`` becomes ``path``; what was there is removed when the new folder is safe."""
    _restore(path)
    if path.exists():
        os.rename(path, path.parent / f"{_OLD}{path.name}")
    os.rename(temporary, path)
    try:
        _sync_folder(path.parent)
    except OSError:
        os.rename(path, temporary)  # an error means that nothing has changed
        raise
    _restore(path)


def _restore(path: Path) -> None:
    """Settle ``.old-NAME``: put it back where its successor is missing, remove it where that stands."""
    old = path.parent / f"{_OLD}{path.name}"
    if not old.exists():
        return
    if path.exists():
        _remove(old)
    else:
        os.rename(old, path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _write_file(path: Path, data: bytes, flush: bool = True) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        if flush:
            os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(path: Path) -> None:
    _flush(path, os.O_DIRECTORY)


def _flush(path: Path, flags: int = 0) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _opened(path: Path, size: int) -> Iterator[int]:
    """A descriptor of a plain file of exactly ``size`` bytes."""
    with opened(path) as handle:
        found = os.fstat(handle).st_size
        if found != size:
            raise CorruptError(f"{path} has {found} bytes, the manifest says {size}")
        yield handle


def _check(path: Path, entry: FileEntry, digest: str) -> None:
    if digest != entry.sha256:
        raise CorruptError(f"{path}: the sha256 is not that of the manifest, so the file was altered or damaged")
