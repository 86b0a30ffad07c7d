"""Errors of this game, beside those of any game.

GameError            see ``selfplay.games.errors``
├── DolphinError     an emulator does not start, hangs, has died, or plays something else than it was told (says what)
├── ReplayError      a replay file cannot be read or written (names file, offset and reason)
├── TableError       a data table is inconsistent (names file, row and field)
└── WasmError        rules cannot be compiled for browsers, or would not be sure to compute what Python does (says why)
"""

from __future__ import annotations

from selfplay.games.errors import GameError


class DolphinError(GameError):
    """Dolphin, its disc image or a game in it that cannot be used; the message is one line."""


class TableError(GameError):
    """A table that was read from the package is inconsistent."""


class WasmError(GameError):
    """A WebAssembly module that cannot be made."""


class ReplayError(GameError):
    """A replay file that cannot be read: what file, at which byte (None: it cannot be opened), and why."""

    def __init__(self, file: str, offset: int | None, reason: str) -> None:
        super().__init__(f"{file}: byte {offset}: {reason}" if offset is not None else f"{file}: {reason}")
        self.file = file
        self.offset = offset
        self.reason = reason
