"""The event stream of a file: its declared sizes, its whole events, start and end of the game."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.games.files import kind_of
from selfplay_melee.errors import ReplayError
from selfplay_melee.slp import layout
from selfplay_melee.slp.container import MAX_FILE_BYTES, Stream, find_stream
from selfplay_melee.slp.scan import Found, find_recordings, stream_of
from selfplay_melee.slp.start import End, Start, read_end, read_start

if TYPE_CHECKING:
    from selfplay_melee.slp.layout import Version

NUM_SEATS: Final = 2

# Bytes after the command byte that an event must have to be read at all, as in version 1.0.
SMALLEST: Final = {
    layout.GAME_START: 0x160,
    layout.PRE_FRAME: layout.size_of(layout.PRE_FIELDS, layout.OLDEST),
    layout.POST_FRAME: layout.size_of(layout.POST_FIELDS, layout.OLDEST),
    layout.GAME_END: 1,
}
KNOWN: Final = frozenset(range(layout.GAME_START, layout.STADIUM + 1)) - {0x3E} | {layout.MESSAGE_SPLITTER}


@dataclass(frozen=True, slots=True)
class Opened:
    """A file with its stream found and its events counted."""

    file: str
    data: bytes
    stream: Stream
    first: int  # offset of the first event behind the table of sizes
    sizes: NDArray[np.int32]  # [256] bytes after the command byte, -1 not declared
    found: Found
    version: Version
    start: Start
    end: End | None
    problems: tuple[str, ...]

    @property
    def complete(self) -> bool:
        return self.found.end == self.stream.end and not self.stream.missing

    @property
    def ports(self) -> tuple[int, int]:
        """Ports of the seats, lower port first."""
        return self.start.ports[0].port, self.start.ports[1].port


def open_stream(data: bytes, file: str) -> Opened:
    """Find, check and count the events of a file.

    Raises:
        ReplayError: no .slp file, one that is too old, too large, or no game of one against one.
    """
    if len(data) > MAX_FILE_BYTES:
        raise ReplayError(file, MAX_FILE_BYTES, f"larger than {MAX_FILE_BYTES} bytes")
    stream = find_stream(data)
    if stream is None:
        kind = kind_of(data)
        raise ReplayError(file, 0, f"not a .slp file{kind and f'; {kind}'}")
    sizes, first = _declared_sizes(data, stream, file)
    start_event = data[first : min(first + 1 + int(sizes[layout.GAME_START]), stream.end)]
    if len(start_event) < 5 or start_event[0] != layout.GAME_START:
        raise ReplayError(file, first, "the game start event is missing")
    version: Version = (start_event[1], start_event[2], start_event[3])
    if version < layout.OLDEST:
        raise ReplayError(file, first + 1, f"version {'.'.join(map(str, version))} is too old, 1.0.0 or newer is read")
    for command, smallest in SMALLEST.items():
        if sizes[command] < smallest:
            declared = f"{sizes[command]} bytes" if sizes[command] >= 0 else "no size"
            raise ReplayError(file, first, f"{declared} declared for event 0x{command:02x}, {smallest} or more needed")
    if len(start_event) < 1 + sizes[layout.GAME_START]:
        raise ReplayError(file, stream.end, "the file ends within the game start event")
    start = read_start(start_event, version)
    if len(start.ports) != NUM_SEATS:
        raise ReplayError(file, first + 0x65, f"a game of {len(start.ports)} players, games of two are read")
    ports = (start.ports[0].port, start.ports[1].port)
    found = find_recordings(stream_of(data, first, stream.end, sizes, ports))
    end, at = None, found.game_end
    if at:  # some files hold it twice: the last counts
        end = read_end(data[at : at + 1 + int(sizes[layout.GAME_END])], version, ports)
    problems = _problems(data, stream, sizes, found)
    return Opened(file, data, stream, first, sizes, found, version, start, end, problems)


def _declared_sizes(data: bytes, stream: Stream, file: str) -> tuple[NDArray[np.int32], int]:
    """The table of sizes that opens the stream, and the offset behind it."""
    begin = stream.begin
    if stream.end - begin < 2 or data[begin] != layout.EVENT_PAYLOADS:
        raise ReplayError(file, begin, "the table of event sizes is missing")
    length = data[begin + 1]
    behind = begin + 1 + length
    if length % 3 != 1 or behind > stream.end:
        raise ReplayError(file, begin + 1, f"a table of event sizes of {length} bytes")
    sizes = np.full(256, -1, np.int32)
    for command, size in struct.iter_unpack(">BH", data[begin + 2 : behind]):
        sizes[command] = size
    return sizes, behind


def _problems(data: bytes, stream: Stream, sizes: NDArray[np.int32], found: Found) -> tuple[str, ...]:
    problems = []
    if stream.in_progress:
        problems.append("the file was still being written")
    if stream.missing:
        problems.append(f"truncated: {stream.missing} bytes are missing")
    if found.end < stream.end:
        command = data[found.end]
        what = "is not whole" if sizes[command] >= 0 else "has no declared size"
        problems.append(f"byte {found.end}: event 0x{command:02x} {what}, nothing behind it is read")
    problems.extend(
        f"{found.counts[command]} unknown events 0x{command:02x} skipped"
        for command in np.flatnonzero(found.counts).tolist()
        if command not in KNOWN
    )
    if not found.game_end:
        problems.append("no game end event")
    return tuple(problems)
