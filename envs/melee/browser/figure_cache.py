"""Figure tables, which take a second a character, are kept beside the compiled rules."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from envs.compile import cache_folder, sources_hash
from envs.files import replacing
from envs.melee.browser import figures

_MELEE: Final = Path(__file__).resolve().parents[1]


def kept_move_tables(characters: Sequence[int]) -> dict[str, NDArray[Any]]:
    """``figures.move_tables``, made once for the same characters and sources."""
    folder = cache_folder()
    if folder is None:
        return figures.move_tables(characters)
    path = folder / f"figures-{_signature(characters)}.npz"
    with suppress(OSError, ValueError, EOFError, zipfile.BadZipFile), np.load(path, allow_pickle=False) as kept:
        return dict(kept)
    made = figures.move_tables(characters)
    with suppress(OSError), replacing(path, path.with_name(f"{path.stem}.{os.getpid()}.npz")) as temporary:
        np.savez(temporary, allow_pickle=False, **made)  # a disk that is full does not cost the tables
    return made


def _signature(characters: Sequence[int]) -> str:
    digest = hashlib.sha256(f"{sources_hash()} {list(characters)}".encode())
    for path in (*sorted((_MELEE / "drawing").rglob("*.py")), Path(str(figures.__file__))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
