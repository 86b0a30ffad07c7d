"""The UBJSON object around the event stream of a .slp file: ``{"raw": bytes, "metadata": object}``.

Sources: the UBJSON specification, draft 12; project-slippi/slippi-wiki, SPEC.md.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

HEADER: Final = b"{U\x03raw[$U#l"
METADATA_KEY: Final = b"U\x08metadata"
STREAM_BEGIN: Final = len(HEADER) + 4

MAX_FILE_BYTES: Final = 1 << 27  # more than an hour of one against one
MAX_METADATA_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 16

Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]


class MetadataError(Exception):
    """The metadata is not what UBJSON allows; ``args`` are offset and reason."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Place of the events in a file."""

    begin: int
    end: int
    in_progress: bool  # the file was still being written: its length is not filled in
    missing: int  # bytes that the length promises and the file does not have


def find_stream(data: bytes) -> Stream | None:
    """Find the events of a file; None if it is no .slp file."""
    if len(data) < STREAM_BEGIN or not data.startswith(HEADER):
        return None
    (length,) = struct.unpack_from(">I", data, len(HEADER))
    if length == 0:
        key = data.rfind(METADATA_KEY, STREAM_BEGIN)
        return Stream(STREAM_BEGIN, key if key > 0 else len(data), True, 0)
    end = STREAM_BEGIN + length
    return Stream(STREAM_BEGIN, min(end, len(data)), False, max(0, end - len(data)))


def read_metadata(data: bytes, begin: int) -> Mapping[str, Value]:
    """The metadata behind the stream, which ends at ``begin``.

    Raises:
        MetadataError: there is none, or it is not whole, too long or too deep.
    """
    if len(data) - begin > MAX_METADATA_BYTES:
        raise MetadataError(begin, f"metadata longer than {MAX_METADATA_BYTES} bytes")
    if not data.startswith(METADATA_KEY, begin):
        raise MetadataError(begin, "no metadata behind the events")
    value = _Decoder(data, begin + len(METADATA_KEY)).value(0)
    if not isinstance(value, dict):
        raise MetadataError(begin, "metadata is no object")
    return value


class _Decoder:
    """Reads UBJSON without optimised containers, as writers of replays use it."""

    _NUMBERS: Final = {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q", b"d": ">f", b"D": ">d"}
    _CONSTANTS: Final = {b"Z": None, b"T": True, b"F": False}

    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self._position = position

    def value(self, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise MetadataError(self._position, f"metadata deeper than {MAX_DEPTH} levels")
        marker = self._take(1)
        if marker in self._NUMBERS:
            number: int | float = struct.unpack(
                self._NUMBERS[marker], self._take(struct.calcsize(self._NUMBERS[marker]))
            )[0]
            return number
        if marker in self._CONSTANTS:
            return self._CONSTANTS[marker]
        if marker == b"C":
            return self._take(1).decode("latin-1")
        if marker == b"S":
            return self._text()
        if marker == b"{":
            return {self._text(): self.value(depth + 1) for _ in self._until(b"}")}
        if marker == b"[":
            return [self.value(depth + 1) for _ in self._until(b"]")]
        raise MetadataError(self._position - 1, f"unknown UBJSON marker {marker!r}")

    def _text(self) -> str:
        start = self._position
        length = self.value(MAX_DEPTH)
        if not isinstance(length, int) or length < 0:
            raise MetadataError(start, "the length of a text is no whole number")
        return self._take(length).decode("utf-8", "replace")

    def _until(self, marker: bytes) -> Iterator[None]:
        """Repeat until the marker comes, and read it."""
        while not self._data.startswith(marker, self._position):
            yield
        self._position += 1

    def _take(self, count: int) -> bytes:
        if count > len(self._data) - self._position:
            raise MetadataError(self._position, "the file ends within the metadata")
        taken = self._data[self._position : self._position + count]
        self._position += count
        return taken
