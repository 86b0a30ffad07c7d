"""Replays: .slp files of real games, and of the mock's, as arrays (see ``docs/replays.md``).

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

from envs.errors import ReplayError
from envs.files import printable, read_plain, replacing
from envs.melee.slp.container import MAX_FILE_BYTES, MetadataError, Value, read_metadata
from envs.melee.slp.encode import encode
from envs.melee.slp.frames import Frames, read_frames
from envs.melee.slp.layout import FIRST_FRAME
from envs.melee.slp.model import ITEM, Replay, Seat
from envs.melee.slp.record import Recording, end_of, replay_of, seat_of
from envs.melee.slp.start import HUMAN, STAGES, End, PortStart
from envs.melee.slp.stream import Opened, open_stream
from envs.melee.slp.write import DoesNotFit

if TYPE_CHECKING:
    from envs.melee.state import GameState

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
    opened = open_stream(data, name or ("<bytes>" if isinstance(source, bytes) else str(source)))
    frames = read_frames(opened)
    names, problems = _names(opened)
    first, second = (_seat(port, frames.characters[i], names) for i, port in enumerate(opened.start.ports))
    return Replay(
        path=opened.file,
        version=opened.version,
        stage=STAGES.get(opened.start.stage, -1),
        external_stage=opened.start.stage,
        pal=opened.start.pal,
        frozen_stadium=opened.start.frozen_stadium,
        seats=(first, second),
        state=frames.state,
        pre=frames.pre,
        post=frames.post,
        items=frames.items,
        timing=frames.timing,
        fod_platforms=frames.fod_platforms,
        whispy=frames.whispy,
        stadium=frames.stadium,
        rolled_back=frames.rolled_back,
        absent=frames.absent,
        end=opened.end,
        complete=opened.complete and opened.end is not None and not len(frames.missing) and not frames.outside,
        problems=(*opened.problems, *problems, *_frame_problems(opened, frames)),
    )


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


def _seat(start: PortStart, character: int, names: dict[int, dict[str, str]]) -> Seat:
    named = names.get(start.port, {})
    return Seat(
        start.port,
        character,
        start.external_character,
        start.costume,
        start.kind == HUMAN,
        start.name or named.get("netplay", ""),
        start.ratios,
        start.code or named.get("code", ""),
    )


def _names(opened: Opened) -> tuple[dict[int, dict[str, str]], tuple[str, ...]]:
    """The names of each port in the metadata, such as "netplay" and "code", and problems of the metadata."""
    if not opened.complete:
        return {}, ()
    try:
        metadata = read_metadata(opened.data, opened.stream.end)
    except MetadataError as error:
        offset, reason = error.args
        return {}, (f"byte {offset}: {reason}",)
    names = {}
    for port in opened.ports:
        inner: Value = dict(metadata)
        for key in ("players", str(port), "names"):
            inner = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            texts = ((kind, text) for kind, text in inner.items() if isinstance(text, str))
            names[port] = {kind: printable(text) for kind, text in texts}
    return names, ()


def _frame_problems(opened: Opened, frames: Frames) -> tuple[str, ...]:
    problems = []
    if len(frames.missing):
        problems.append(f"{len(frames.missing)} frames are left out, the first is {frames.missing[0]}")
    if frames.outside:
        problems.append(f"{frames.outside} events of frames that cannot be are skipped")
    if not opened.complete:
        last = f"the last whole frame is {frames.numbers[-1]}" if len(frames.numbers) else "no frame is whole"
        problems.append(last)
    return tuple(problems)
