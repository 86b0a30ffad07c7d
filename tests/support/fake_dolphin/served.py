"""A .slp file in place of a game: its events, as they were recorded, every version of a frame included."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.games.errors import GameError
from selfplay_melee.slp import layout
from selfplay_melee.slp.container import MAX_FILE_BYTES
from selfplay_melee.slp.stream import Opened, open_stream

if TYPE_CHECKING:
    from selfplay_melee.slp.layout import Version

BOOKENDS_SINCE: Final = (3, 0, 0)
_ENDS_MESSAGE: Final = (layout.GAME_START, layout.FRAME_BOOKEND, layout.MESSAGE_SPLITTER)


class ServedGame:
    """The game of a file; controllers have no effect.

    Args:
        path: Of the file.

    Raises:
        GameError: it cannot be read, has no frame, or is older than 3.0, when frames had no end that is shown.
    """

    def __init__(self, path: Path) -> None:
        opened = _open(path)
        self.version: Version = opened.version
        self.ports = opened.ports
        self.number = layout.FIRST_FRAME - 1  # of the latest frame
        self.over = False
        self.opening: list[bytes] = []
        self._frames: list[tuple[int, bytes]] = []
        self._ending = self._cut(opened)
        self._next = 0
        if not self._frames:
            raise GameError(f"{path}: no whole frame to serve")

    def _cut(self, opened: Opened) -> bytes:
        """Messages as Dolphin flushes them; the events behind the last."""
        message, at = opened.data[opened.stream.begin : opened.first], opened.first
        while at < opened.found.end:
            command = opened.data[at]
            event = opened.data[at : at + 1 + int(opened.sizes[command])]
            at += len(event)
            message += event
            if command == layout.FRAME_BOOKEND:
                self._frames.append((struct.unpack_from(">i", event, 1)[0], message))
            elif command in _ENDS_MESSAGE:
                self.opening.append(message)
            if command in _ENDS_MESSAGE:
                message = b""
        return message

    def frame(self, pads: Mapping[int, Any]) -> bytes:
        """The next recording of a frame."""
        self.number, events = self._frames[self._next]
        self._next += 1
        self.over = self._next == len(self._frames)
        return events

    def ending(self, quitter: int | None) -> bytes:
        """What is shown after the last frame, whoever quits; b"" if the file has no end."""
        return self._ending


def _open(path: Path) -> Opened:
    try:
        with path.open("rb") as file:
            opened = open_stream(file.read(MAX_FILE_BYTES + 1), str(path))
    except OSError as error:
        raise GameError(f"{path}: {error.strerror}") from error
    if opened.version < BOOKENDS_SINCE:
        raise GameError(f"{path}: version {'.'.join(map(str, opened.version))} cannot be served, 3.0.0 or newer can")
    return opened
