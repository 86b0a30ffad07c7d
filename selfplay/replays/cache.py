"""Examples on disk, so that a file is read and encoded once: found by content, verified when read, bounded.

    CACHE/files-FOLDER.json            size and time of each file of a folder -> sha256, so that it need not be read
    CACHE/KEY/SHA256/game.json         what the file holds (``Note``), or why it cannot be used
    CACHE/KEY/SHA256/examples.safetensors   both seats: "0/obs", "0/action", "0/last", "0/frame", "0/fresh", "1/..."

KEY names everything else that the examples depend on. An entry is a folder of ``checkpoint.store``: written whole or
not at all, each file of the size and sha256 that its manifest gives. What does not agree is removed and made anew. The
cache only saves time: where it cannot be written, ``trouble`` says why, and everything works without.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from envs.melee.controller import ACTION_SPEC, HIGHEST
from envs.melee.examples import EXAMPLES_VERSION, Examples
from envs.melee.observation import ENCODER_VERSION, OBS_WIDTH
from envs.melee.replay import READER_VERSION
from envs.melee.state import NUM_SEATS
from selfplay.checkpoint.documents import MAX_JSON_BYTES, JsonObject, decode_json, encode_json, parse
from selfplay.checkpoint.store import Sha256, open_folder, write_file, write_folder
from selfplay.checkpoint.tensors import Array, decode_arrays, encode_arrays
from selfplay.errors import CheckpointError, CorruptError
from selfplay.files import read_file
from selfplay.replays.games import Note

if TYPE_CHECKING:
    from pathlib import Path

    from envs.melee.tables import Tables

LIMIT_BYTES: Final = 20 * 10**9
MAX_ENTRY_BYTES: Final = 2**30  # of both seats of the longest game that is read
MAX_FILES: Final = 30_000  # of a folder whose sizes and times are kept

_NOTE, _EXAMPLES = "game.json", "examples.safetensors"
_COLUMNS: Final[dict[str, tuple[type[np.generic], tuple[int, ...]]]] = {
    "obs": (np.float32, (OBS_WIDTH,)),
    "action": (np.int8, (ACTION_SPEC.width,)),
    "last": (np.int8, (ACTION_SPEC.width,)),
    "frame": (np.int32, ()),
    "fresh": (np.bool_, ()),
}
_KEY: Final = re.compile(r"e\d+-o\d+-r\d+-t[0-9a-f]{8}-k\d+-d\d+")
_ENTRY: Final = re.compile(r"(\.tmp-|\.old-)?[0-9a-f]{64}")  # with what a crashed write left behind


class FileNote(BaseModel):
    """The content that a file of this size and time had."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int = Field(ge=0)
    mtime_ns: int
    sha256: Sha256


class _FileNotes(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    files: dict[Annotated[str, Field(max_length=4096)], FileNote] = Field(max_length=MAX_FILES)


def format_key(frame_skip: int, delay: int, tables: Tables) -> str:
    """Everything that the examples of a file depend on beside the file, as the name of a folder."""
    digest = hashlib.sha256()
    for columns in cast("tuple[NDArray[Any], ...]", tables):
        for name in columns.dtype.names or (...,):  # field by field: what lies between fields may be anything
            digest.update(np.ascontiguousarray(columns[name]).tobytes())
    versions = f"e{EXAMPLES_VERSION}-o{ENCODER_VERSION}-r{READER_VERSION}"
    return f"{versions}-t{digest.hexdigest()[:8]}-k{frame_skip}-d{delay}"


class Cache:
    """The entries of one format in a folder that entries of other formats may share.

    Args:
        folder: Made when something is written.
        key: See ``format_key``.
        limit_bytes: Of the entries of all formats together; the oldest go first.
    """

    def __init__(self, folder: Path, key: str, limit_bytes: int = LIMIT_BYTES) -> None:
        self.trouble = ""  # why something could not be kept
        self._folder = folder
        self._entries = folder / key
        self._limit = limit_bytes
        self._sizes = _sizes(folder)  # of all entries, the oldest first
        self._drop_oldest()

    @property
    def used_bytes(self) -> int:
        """Of all entries of all formats."""
        return sum(self._sizes.values())

    def note(self, content: str) -> Note | None:
        """What the file of this sha256 holds, None if that is not known."""
        try:
            stored = open_folder(self._entries / content)
            document = decode_json(stored.read(_NOTE, MAX_JSON_BYTES), _NOTE)
            return parse(Note, document, _NOTE, CorruptError)
        except CheckpointError:
            self._remove(self._entries / content)
            return None

    def examples(self, content: str) -> list[Examples] | None:
        """The examples of both seats of the file of this sha256, None if they are not here or damaged."""
        try:
            stored = open_folder(self._entries / content)
            arrays = decode_arrays(stored.read(_EXAMPLES, MAX_ENTRY_BYTES), _EXAMPLES)
            return [_seat(arrays, seat) for seat in range(NUM_SEATS)]
        except CheckpointError:
            self._remove(self._entries / content)
            return None

    def put(self, content: str, note: Note, made: Sequence[Examples]) -> None:
        """Keep what a file holds: its note, and the examples of both seats if it can be used."""
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
        """What was remembered of the files of a folder, by their path below it."""
        path = self._files_of(folder)
        try:
            document = decode_json(read_file(path, MAX_JSON_BYTES), path.name)
            return parse(_FileNotes, document, path.name, CorruptError).files
        except CheckpointError:
            return {}

    def remember_files(self, folder: Path, files: Mapping[str, FileNote]) -> None:
        """Remember the first ``MAX_FILES`` of these files of a folder; those whose name is no Unicode text are not."""
        named = [name for name in files if name.isprintable()]
        first: JsonObject = {name: files[name].model_dump() for name in named[:MAX_FILES]}
        path = self._files_of(folder)
        try:
            write_file(path, encode_json({"files": first}, path.name))
        except CheckpointError as error:
            self.trouble = str(error)

    def _files_of(self, folder: Path) -> Path:
        return self._folder / f"files-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]}.json"

    def _drop_oldest(self) -> None:
        used = self.used_bytes
        for path in list(self._sizes):
            if used <= self._limit:
                return
            used -= self._sizes[path]
            self._remove(path)

    def _remove(self, path: Path) -> None:
        """An entry that another process removes at the same time is gone as well."""
        shutil.rmtree(path, ignore_errors=True)
        self._sizes.pop(path, None)


def _seat(arrays: Mapping[str, Array], seat: int) -> Examples:
    """The examples of a seat; CorruptError where they are not what ``put`` keeps."""
    columns: dict[str, Any] = {}
    count = arrays[f"{seat}/obs"].shape[:1] if f"{seat}/obs" in arrays else ()
    for name, (kind, shape) in _COLUMNS.items():
        array = arrays.get(f"{seat}/{name}")
        if array is None or array.dtype != kind or array.shape != (*count, *shape):
            raise CorruptError(f"{_EXAMPLES}: {seat}/{name} is missing, or of another type or shape")
        columns[name] = array
    for name in ("action", "last"):
        if ((columns[name] < 0) | (columns[name] > HIGHEST)).any():
            raise CorruptError(f"{_EXAMPLES}: {seat}/{name} holds what no controller can do")
    return Examples(**columns)


def _sizes(folder: Path) -> dict[Path, int]:
    """Bytes of all entries of all formats, the oldest first; nothing else in the folder is looked at."""
    found: list[tuple[int, Path]] = []
    keys = [key for key in folder.iterdir() if _KEY.fullmatch(key.name)] if folder.is_dir() else []
    for key in keys:
        if key.is_dir() and not key.is_symlink():
            entries = (entry for entry in key.iterdir() if _ENTRY.fullmatch(entry.name) and not entry.is_symlink())
            found.extend((entry.stat().st_mtime_ns, entry) for entry in entries)
    return {path: _size(path) for _, path in sorted(found)}


def _size(entry: Path) -> int:
    return sum(file.lstat().st_size for file in entry.iterdir()) if entry.is_dir() else 0
