"""A bounded disk cache of encoded examples, keyed by file content and verified when read.

    CACHE/files-FOLDER.json            size and mtime of each file of a folder -> sha256
    CACHE/KEY/SHA256/game.json         content of the file (``Note``), or why it cannot be used
    CACHE/KEY/SHA256/examples.safetensors   both seats: "0/obs", "0/action", "0/last", "0/frame", "0/fresh", "1/..."

KEY encodes everything else that the examples depend on. An entry is a folder of ``checkpoint.store``, written
atomically and verified by its manifest. Invalid entries are removed. If the cache cannot be written, ``trouble`` has
the reason and everything works without it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
from pydantic import BaseModel, Field

from selfplay.checkpoint.documents import MAX_JSON_BYTES, JsonObject, Sha256, decode_json, encode_json, parse
from selfplay.checkpoint.store import open_folder, write_file, write_folder
from selfplay.checkpoint.tensors import Array, decode_arrays, encode_arrays
from selfplay.errors import CheckpointError, CorruptError
from selfplay.files import read_file
from selfplay.imitation.batches import Examples
from selfplay_melee.controller import ACTION_SPEC, HIGHEST
from selfplay_melee.examples import EXAMPLES_VERSION
from selfplay_melee.observation import ENCODER_VERSION, OBS_WIDTH
from selfplay_melee.replay import READER_VERSION
from selfplay_melee.replays.games import Note
from selfplay_melee.state import NUM_SEATS

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay_melee.tables import Tables

LIMIT_BYTES: Final = 20 * 10**9
MAX_ENTRY_BYTES: Final = 2**30  # both seats of the longest game
MAX_FILES: Final = 30_000  # per folder

_NOTE, _EXAMPLES = "game.json", "examples.safetensors"
_COLUMNS: Final[dict[str, tuple[type[np.generic], tuple[int, ...]]]] = {
    "obs": (np.float32, (OBS_WIDTH,)),
    "action": (np.int8, (ACTION_SPEC.width,)),
    "last": (np.int8, (ACTION_SPEC.width,)),
    "frame": (np.int32, ()),
    "fresh": (np.bool_, ()),
}
_KEY: Final = re.compile(r"e\d+-o\d+-r\d+-t[0-9a-f]{8}-k\d+-d\d+")
_ENTRY: Final = re.compile(r"(\.tmp-|\.old-)?[0-9a-f]{64}")  # including leftovers of crashed writes


class FileNote(BaseModel, frozen=True, extra="forbid"):
    """Content hash of a file with this size and mtime."""

    size: int = Field(ge=0)
    mtime_ns: int
    sha256: Sha256


class _FileNotes(BaseModel, frozen=True, extra="forbid"):
    files: dict[Annotated[str, Field(max_length=4096)], FileNote] = Field(max_length=MAX_FILES)


def format_key(frame_skip: int, delay: int, tables: Tables) -> str:
    """Folder name that encodes everything the examples depend on besides the file."""
    digest = hashlib.sha256()
    for table in tables.dtype.names or ():
        columns = tables[table]
        for name in columns.dtype.names or (...,):  # field by field, without undefined padding
            digest.update(np.ascontiguousarray(columns[name]).tobytes())
    versions = f"e{EXAMPLES_VERSION}-o{ENCODER_VERSION}-r{READER_VERSION}"
    return f"{versions}-t{digest.hexdigest()[:8]}-k{frame_skip}-d{delay}"


class Cache:
    """Cache entries of one format; other formats can share the folder, which is created on the first write.

    ``key`` is of ``format_key``. ``limit_bytes`` is over all formats; the oldest entries are removed first.
    """

    def __init__(self, folder: Path, key: str, limit_bytes: int = LIMIT_BYTES) -> None:
        self.trouble = ""  # reason of the last failed write
        self._folder = folder
        self._entries = folder / key
        self._limit = limit_bytes
        self._sizes = _sizes(folder)  # of all entries, the oldest first
        self._drop_oldest()

    @property
    def used_bytes(self) -> int:
        return sum(self._sizes.values())

    def note(self, content: str) -> Note | None:
        """The note of the file with this sha256, or None."""
        try:
            stored = open_folder(self._entries / content)
            document = decode_json(stored.read(_NOTE, MAX_JSON_BYTES), _NOTE)
            return parse(Note, document, _NOTE, CorruptError)
        except CheckpointError:
            self._remove(self._entries / content)
            return None

    def examples(self, content: str) -> list[Examples] | None:
        """The examples of both seats of the file with this sha256; None if missing or damaged."""
        try:
            stored = open_folder(self._entries / content)
            arrays = decode_arrays(stored.read(_EXAMPLES, MAX_ENTRY_BYTES), _EXAMPLES)
            return [_seat(arrays, seat) for seat in range(NUM_SEATS)]
        except CheckpointError:
            self._remove(self._entries / content)
            return None

    def put(self, content: str, note: Note, made: Sequence[Examples]) -> None:
        """Store the note of a file, and the examples of both seats if it is usable."""
        path = self._entries / content
        try:
            files = {_NOTE: encode_json(note.model_dump(mode="json"), _NOTE)}
            if made:
                files[_EXAMPLES] = encode_arrays(
                    {f"{seat}/{name}": getattr(made[seat], name) for seat in range(NUM_SEATS) for name in _COLUMNS},
                    _EXAMPLES,
                )
            if sum(map(len, files.values())) > min(self._limit, MAX_ENTRY_BYTES):
                return
            write_folder(path, files, replace=True)
        except CheckpointError as error:
            self.trouble = str(error)
            return
        self._sizes.pop(path, None)
        self._sizes[path] = _size(path)
        self._drop_oldest()

    def known_files(self, folder: Path) -> dict[str, FileNote]:
        """Stored file notes of a folder, by relative path."""
        path = self._files_of(folder)
        try:
            document = decode_json(read_file(path, MAX_JSON_BYTES), path.name)
            return parse(_FileNotes, document, path.name, CorruptError).files
        except CheckpointError:
            return {}

    def remember_files(self, folder: Path, files: Mapping[str, FileNote]) -> None:
        """Store up to ``MAX_FILES`` file notes of a folder; names that are not printable are skipped."""
        named = [name for name in files if name.isprintable()]
        first: JsonObject = {name: files[name].model_dump() for name in named[:MAX_FILES]}
        path = self._files_of(folder)
        try:
            write_file(path, encode_json({"files": first}, path.name))
        except CheckpointError as error:
            self.trouble = str(error)

    def _files_of(self, folder: Path) -> Path:
        return self._folder / f"files-{hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]}.json"

    def _drop_oldest(self) -> None:
        used = self.used_bytes
        for path in list(self._sizes):
            if used <= self._limit:
                return
            used -= self._sizes[path]
            self._remove(path)

    def _remove(self, path: Path) -> None:
        """Remove an entry; another process may remove it at the same time."""
        shutil.rmtree(path, ignore_errors=True)
        self._sizes.pop(path, None)


def _seat(arrays: Mapping[str, Array], seat: int) -> Examples:
    """The validated examples of a seat; CorruptError for a wrong dtype, shape or value."""
    columns: dict[str, Any] = {}
    count = arrays[f"{seat}/obs"].shape[:1] if f"{seat}/obs" in arrays else ()
    for name, (kind, shape) in _COLUMNS.items():
        array = arrays.get(f"{seat}/{name}")
        if array is None or array.dtype != kind or array.shape != (*count, *shape):
            raise CorruptError(f"{_EXAMPLES}: {seat}/{name} is missing, or has a wrong dtype or shape")
        columns[name] = array
    for name in ("action", "last"):
        if ((columns[name] < 0) | (columns[name] > HIGHEST)).any():
            raise CorruptError(f"{_EXAMPLES}: {seat}/{name} has an impossible controller state")
    return Examples(**columns)


def _sizes(folder: Path) -> dict[Path, int]:
    """Sizes of all entries of all formats, oldest first; other files are ignored."""
    found: list[tuple[int, Path]] = []
    keys = [key for key in folder.iterdir() if _KEY.fullmatch(key.name)] if folder.is_dir() else []
    for key in keys:
        if key.is_dir() and not key.is_symlink():
            entries = (entry for entry in key.iterdir() if _ENTRY.fullmatch(entry.name) and not entry.is_symlink())
            found.extend((entry.stat().st_mtime_ns, entry) for entry in entries)
    return {path: _size(path) for _, path in sorted(found)}


def _size(entry: Path) -> int:
    return sum(file.lstat().st_size for file in entry.iterdir()) if entry.is_dir() else 0
