"""Folders that are written atomically and verified when they are read.

A folder NAME is written as ``.tmp-NAME``: all files, then ``MANIFEST.json`` with size and sha256 of each, all flushed
to disk. One rename makes it visible, and the parent is flushed. So after a crash or a full disk either the old or the
new state exists. A replaced folder is kept as ``.old-NAME`` until the new one is in place; ``recover`` removes
leftovers of a crash and restores an old folder without a successor.

Reading checks names, sizes and hashes before parsing, and does not follow links.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, Field, StringConstraints

from selfplay.checkpoint.documents import (
    MAX_JSON_BYTES,
    Model,
    Sha256,
    decode_json,
    encode_json,
    from_document,
    parse,
    refuse_newer,
)
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
from selfplay.files import opened, read_file, sync
from selfplay.games.files import chunks

MANIFEST: Final = "MANIFEST.json"
MANIFEST_VERSION: Final = 1
MAX_FILES: Final = 256
MAX_FILE_BYTES: Final = 4 * 2**30
MAX_MANIFEST_BYTES: Final = 2**20
RUST_OS_ERROR: Final = "(os error "  # in the message of a safetensors or tokenizers that could not write
FOLDER: Final = os.O_DIRECTORY | os.O_NOFOLLOW
_TMP, _OLD, _TRASH = ".tmp-", ".old-", ".tmp-trash-"

FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$")]


class FileEntry(BaseModel, frozen=True, extra="forbid"):
    """Size and hash of one file."""

    bytes: int = Field(ge=0, le=MAX_FILE_BYTES)
    sha256: Sha256


class Manifest(BaseModel, frozen=True, extra="forbid"):
    """The files of a folder. It is written last, so a folder with a manifest is complete."""

    format_version: int = Field(ge=1, le=MANIFEST_VERSION)
    files: dict[FileName, FileEntry] = Field(max_length=MAX_FILES)


@dataclass(frozen=True, slots=True)
class StoredFolder:
    """A folder with a loaded manifest; files are verified when they are read."""

    path: Path
    manifest: Manifest

    def read(self, name: str, limit: int = MAX_FILE_BYTES) -> bytes:
        """Read a file of at most ``limit`` bytes and check size and sha256."""
        entry = self.manifest.files.get(name)
        if entry is None:
            raise CorruptError(f"{self.path / name}: not in the manifest of the folder")
        if entry.bytes > limit:
            raise CorruptError(f"{self.path / name}: {entry.bytes} bytes, the limit is {limit}")
        with _opened(self.path / name, entry.bytes) as handle:
            data = b"".join(chunks(handle, entry.bytes))
        _check(self.path / name, entry, hashlib.sha256(data).hexdigest())
        return data

    def document(self, name: str, model: type[Model]) -> Model:
        """Read and verify a JSON document."""
        place = str(self.path / name)
        return from_document(model, decode_json(self.read(name, MAX_JSON_BYTES), place), place)

    def verify(self) -> None:
        """Check all files; CorruptError names the first bad one."""
        for name, entry in self.manifest.files.items():
            digest = hashlib.sha256()
            with _opened(self.path / name, entry.bytes) as handle:
                for chunk in chunks(handle, entry.bytes):
                    digest.update(chunk)
            _check(self.path / name, entry, digest.hexdigest())


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Convert OS errors to DiskError and other exceptions to CheckpointError."""
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
    """Open a folder of ``write_folder``; CorruptError if it is damaged, IncompatibleError for a newer format."""
    if not path.is_dir():
        raise NotARunError(f"{path}: no such folder")
    file = path / MANIFEST
    document = decode_json(read_file(file, MAX_MANIFEST_BYTES), str(file))
    refuse_newer(document.get("format_version"), MANIFEST_VERSION, str(file))
    return StoredFolder(path, parse(Manifest, document, str(file), CorruptError))


def write_folder(path: Path, files: Mapping[str, bytes], replace: bool = False) -> Path:
    """Write ``files`` by name as the folder ``path``, atomically; errors as of ``fill_folder``."""

    def fill(folder: Path) -> None:
        for name, data in files.items():
            _write_file(folder / name, data, flush=False)

    return fill_folder(path, fill, replace)


def fill_folder(path: Path, fill: Callable[[Path], object], replace: bool = False) -> Path:
    """Write the folder ``path`` atomically; ``fill`` is called with an empty folder for the files.

    On an error the old content is unchanged and nothing new is left.
    ImmutableError if it exists and ``replace`` is false, DiskError if the disk failed, else CheckpointError.
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
            sync(temporary, FOLDER)
            _swap_in(temporary, path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            _restore(path)
            raise
    return path


def write_file(path: Path, data: bytes) -> None:
    temporary = path.parent / f"{_TMP}{path.name}"
    with writing(f"cannot write {path}"):
        try:
            make_folder(path.parent)
            temporary.unlink(missing_ok=True)
            _write_file(temporary, data)
            os.replace(temporary, path)
            sync(path.parent, FOLDER)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def make_folder(path: Path) -> None:
    """Create a folder and its parents, flushed to disk; an existing folder is kept."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync(path.parent, FOLDER)


def remove_folder(path: Path) -> None:
    """Remove a folder; after a crash no partial folder of this name is left."""
    trash = path.parent / f"{_TRASH}{path.name}"
    with writing(f"cannot remove {path}"):
        shutil.rmtree(trash, ignore_errors=True)
        os.rename(path, trash)
        shutil.rmtree(trash)


def recover(parent: Path) -> None:
    """Remove leftovers of crashed writes in ``parent``. Only its single writer may call this."""
    if not parent.is_dir():
        return
    with boundary(CheckpointError, f"cannot clean {parent}"):
        for entry in sorted(parent.iterdir()):
            if entry.name.startswith(_OLD):
                _restore(parent / entry.name.removeprefix(_OLD))
            elif entry.name.startswith(_TMP):
                _remove(entry)


def _manifest(folder: Path) -> bytes:
    """Flush all files of a folder and return its manifest."""
    entries = {}
    for file in sorted(folder.iterdir()):
        sync(file, os.O_NOFOLLOW)
        digest, size = hashlib.sha256(), 0
        with opened(file) as handle:
            for chunk in chunks(handle, MAX_FILE_BYTES):
                digest.update(chunk)
                size += len(chunk)
        entries[file.name] = FileEntry(bytes=size, sha256=digest.hexdigest())
    return encode_json(Manifest(format_version=MANIFEST_VERSION, files=entries).model_dump(mode="json"), MANIFEST)


def _swap_in(temporary: Path, path: Path) -> None:
    """Commit: rename ``temporary`` to ``path``, then remove the replaced folder."""
    _restore(path)
    if path.exists():
        os.rename(path, path.parent / f"{_OLD}{path.name}")
    os.rename(temporary, path)
    try:
        sync(path.parent, FOLDER)
    except OSError:
        os.rename(path, temporary)  # undo, so that an error changes nothing
        raise
    _restore(path)


def _restore(path: Path) -> None:
    """Restore ``.old-NAME`` if its successor is missing, else remove it."""
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


@contextmanager
def _opened(path: Path, size: int) -> Iterator[int]:
    """Open a plain file of exactly ``size`` bytes."""
    with opened(path) as handle:
        found = os.fstat(handle).st_size
        if found != size:
            raise CorruptError(f"{path} has {found} bytes, the manifest says {size}")
        yield handle


def _check(path: Path, entry: FileEntry, digest: str) -> None:
    if digest != entry.sha256:
        raise CorruptError(f"{path}: wrong sha256: the file was changed or damaged")
