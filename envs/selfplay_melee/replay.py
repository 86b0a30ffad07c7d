"""Replays: .slp files of real games, and of the mock's, as arrays (see ``docs/melee/replays.md``).

    replay = read_replay("game.slp")
    replay.state.players["x"]  # [T, 2]: frames, seats

Row t of all arrays is one frame: ``controllers[t]`` are the inputs that led to ``players[t]``. If a frame was
recorded several times (rollback), the last whole recording counts.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.games.files import read_plain, replacing
from selfplay_melee.errors import ReplayError
from selfplay_melee.slp.container import MAX_FILE_BYTES
from selfplay_melee.slp.encode import DoesNotFit, encode
from selfplay_melee.slp.frames import read_frames
from selfplay_melee.slp.layout import FIRST_FRAME
from selfplay_melee.slp.model import ITEM, Replay, Seat
from selfplay_melee.slp.record import Recording, end_of, replay_of, seat_of
from selfplay_melee.slp.start import End
from selfplay_melee.slp.stream import open_stream

if TYPE_CHECKING:
    from selfplay_melee.state import GameState

__all__ = [
    "ITEM",
    "READER_VERSION",
    "End",
    "Recording",
    "Replay",
    "ReplayError",
    "Seat",
    "end_of",
    "read_replay",
    "replace_file",
    "replay_of",
    "save_replay",
    "seat_of",
    "write_replay",
]

READER_VERSION: Final = 1  # of the state and controllers that a file gives: raise it with every change, caches follow


def read_replay(source: str | Path | bytes, name: str | None = None) -> Replay:
    """Read a .slp file, or the bytes of one, which ``name`` names in messages.

    Raises:
        ReplayError: the file cannot be read, is no .slp file, is older than version 1.0 or too large, or was not
            played one against one.
    """
    data = source if isinstance(source, bytes) else _load(Path(source))
    return read_frames(open_stream(data, name or ("<bytes>" if isinstance(source, bytes) else str(source))))


def write_replay(
    path: str | Path,
    state: GameState,
    seats: tuple[Seat, Seat],
    stage: int,
    *,
    items: NDArray[np.void] | None = None,
    end: End | None = None,
    started: datetime | None = None,
) -> Replay:
    """Write T frames of one game as a .slp file, atomically; what ``read_replay`` makes of it (see ``replay_of``).

    Raises:
        ReplayError: a value does not fit into its field, frames do not rise, or the file cannot be written.
        GameError: the stage has no number in replay files.
    """
    replay = replay_of(state, seats, stage, items=items, end=end, path=str(path))
    save_replay(path, replay, started)
    return replay


def save_replay(path: str | Path, replay: Replay, started: datetime | None = None) -> None:
    """Write a replay as a .slp file of its version, atomically; every frame once, with nothing that was rolled back.

    Raises:
        ReplayError: a value does not fit into its field, frames do not rise, or the file cannot be written.
    """
    path = Path(path)
    frames = replay.state.game["frame"]
    if len(frames) and (frames[0] < FIRST_FRAME or (np.diff(frames) <= 0).any()):
        raise ReplayError(str(path), 0, f"frames must rise from {FIRST_FRAME} or later")
    try:
        data = encode(replay, started)
    except DoesNotFit as error:
        raise ReplayError(str(path), 0, str(error)) from error
    try:
        replace_file(path, data)
    except OSError as error:
        raise ReplayError(str(path), None, error.strerror or str(error)) from error


def replace_file(path: Path, data: bytes) -> None:
    """Write a file atomically.

    Raises:
        OSError: it cannot be written.
    """
    with replacing(path, path.with_name(f"{path.name}.{os.getpid()}.tmp")) as temporary:
        temporary.write_bytes(data)


def _load(path: Path) -> bytes:
    try:
        return read_plain(path, MAX_FILE_BYTES, follow=True)
    except OSError as error:
        raise ReplayError(str(path), None, error.strerror or str(error)) from error
