"""A file of JSON objects, one a line, that a crash can only tear at its end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint.documents import JsonObject, decode_json
from selfplay.checkpoint.store import write_file
from selfplay.errors import CheckpointError, CorruptError, boundary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_LINE_BYTES: Final = 2**20


class JsonLines:
    """Append rows, read them back, drop the newest on resume. One writer; a row reaches the kernel before return."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path

    def append(self, row: JsonObject) -> None:
        """Add a row, in place of a torn one that a crash or a full disk left at the end."""
        with boundary(CheckpointError, f"cannot append to {self.path}"):
            line = json.dumps(row, allow_nan=False, separators=(",", ":")).encode() + b"\n"
            with self.path.open("ab+") as file:
                end = file.tell()
                file.seek(max(0, end - MAX_LINE_BYTES))
                tail = file.read(MAX_LINE_BYTES)
                torn = len(tail) - (tail.rfind(b"\n") + 1)
                if torn:
                    file.truncate(end - torn)
                file.write(line)

    def read(self) -> list[JsonObject]:
        """All rows, but for a torn one at the end; none where there is no file. CorruptError names a bad line."""
        lines = [line for line in self._lines() if line.endswith(b"\n")]
        return [decode_json(line, f"{self.path}, line {number}") for number, line in enumerate(lines, 1)]

    def truncate(self, iteration: int) -> int:
        """Keep the rows up to ``iteration``, for a run that resumes there; how many lines went, bad ones included."""
        lines = list(self._lines())
        kept = [line for line in lines if line.endswith(b"\n") and _iteration(line) <= iteration]
        if len(kept) < len(lines):
            write_file(self.path, b"".join(kept))
        return len(lines) - len(kept)

    def _lines(self) -> Iterator[bytes]:
        """Lines with their newline; only a torn one at the end, or one that is too long, has none."""
        if self.path.exists():
            with boundary(CheckpointError, f"cannot read {self.path}"), self.path.open("rb") as file:
                while line := file.readline(MAX_LINE_BYTES):
                    yield line


def _iteration(line: bytes) -> float:
    """The iteration of a row; infinite where the line is torn or has none."""
    try:
        value = decode_json(line, "row").get("iteration")
    except CorruptError:
        return float("inf")
    return value if isinstance(value, int) else float("inf")
