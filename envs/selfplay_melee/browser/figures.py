"""Figures and hit circles of characters by action and frame, as tables for ``scene.js``.

They take a second a character, and are kept beside the compiled rules.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.compilation.code_cache import cache_folder, sources_hash
from selfplay.games.files import replacing
from selfplay_melee.actions import NUM_ACTIONS
from selfplay_melee.drawing import moves
from selfplay_melee.drawing.columns import FIGURE_UNIT, circle_columns, whole
from selfplay_melee.drawing.poses import ATTACKS
from selfplay_melee.drawing.scene import Numbered

_DRAWING: Final = Path(__file__).resolve().parents[1] / "drawing"
FRAMES: Final = 100
"""Frames of an action that the tables hold. Later the movement repeats (``poses.period_of``) or has ended."""


def kept_move_tables(characters: Sequence[int]) -> dict[str, NDArray[Any]]:
    """``move_tables``, made once for the same characters and sources."""
    folder = cache_folder("selfplay_melee")
    if folder is None:
        return move_tables(characters)
    path = folder / f"figures-{_signature(characters)}.npz"
    with suppress(OSError, ValueError, EOFError, zipfile.BadZipFile):
        return dict(np.load(io.BytesIO(path.read_bytes()), allow_pickle=False))
    made = move_tables(characters)
    with suppress(OSError), replacing(path, path.with_name(f"{path.stem}.{os.getpid()}.npz")) as temporary:
        np.savez(temporary, allow_pickle=False, **made)  # a disk that is full does not cost the tables
    return made


def _signature(characters: Sequence[int]) -> str:
    digest = hashlib.sha256(f"{sources_hash('selfplay_melee')} {list(characters)}".encode())
    for path in (*sorted(_DRAWING.rglob("*.py")), Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def move_tables(characters: Sequence[int]) -> dict[str, NDArray[np.generic]]:
    """Tables of characters, by Melee's internal ids. Each figure, set of circles and sequence of frames is there once.

    Returns:
        ``figures`` int16 [F, J, 2], ``circle`` int16 [K, 3] and ``circles_at`` uint32 [S + 1] as in the columns of a
        film; ``row_figure`` and ``row_circles`` uint16 [R], which of them a frame has; ``first`` and ``count`` uint16
        [C, NUM_ACTIONS], the rows of an action of a character. The last row is that of all later frames.
    """
    figures, circles, sequences = Numbered(), Numbered(), Numbered()
    which = np.zeros((len(characters), NUM_ACTIONS), np.uint16)
    for index, character in enumerate(characters):
        drawn: dict[tuple[object, ...], list[int]] = {}  # figures of a sequence, by what they depend on
        for action in range(NUM_ACTIONS):
            start = moves.Move(character, action, 0)
            key = start.category, moves.timing_of(start) if start.category in ATTACKS else None
            if key not in drawn:
                drawn[key] = [figures.number_of(whole(moves.figure(move), FIGURE_UNIT)) for move in _frames(start)]
            hits = [circles.number_of(moves.circles(move)) for move in _frames(start)]
            rows = np.array([drawn[key], hits], np.uint16).T
            last = np.flatnonzero((rows != rows[-1]).any(1)).max(initial=-1) + 1  # from here on all are equal
            which[index, action] = sequences.number_of(rows[: last + 1])
    first = np.cumsum([0, *map(len, sequences.arrays)]).astype(np.uint16)
    figure, hit = np.concatenate(sequences.arrays).T
    return {
        "figures": np.stack(figures.arrays),
        **circle_columns(circles.arrays),
        "row_figure": figure,
        "row_circles": hit,
        "first": first[which],
        "count": np.diff(first)[which],
    }


def _frames(start: moves.Move) -> Iterator[moves.Move]:
    return (start._replace(frame=frame) for frame in range(FRAMES))
