"""The game's own tables in one binary file in the user's cache: to read a megabyte of TOML takes a second.

The file is named by a hash of the files of the tables and of the sources that read them, so it is never stale. It holds
arrays alone; one that cannot be read is made again. Numba is not imported, which would take as long.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfplay.games.files import replacing, user_cache
from selfplay_melee.physics.memory import MEMORY
from selfplay_melee.tables.layout import ACTION, CHARACTER, HIT, SPECIAL, STAGE, Tables, as_tables

RECORDS: Final = {
    "characters": CHARACTER, "actions": ACTION, "specials": SPECIAL, "hits": HIT, "stages": STAGE, "blank": MEMORY,
}  # fmt: skip
"""Types of the fields that are kept as bytes: a file would not say how they are aligned."""
SOURCES: Final = (Path(__file__).parent, Path(__file__).parents[1], Path(__file__).parents[1] / "physics")
"""Folders of the sources that say what tables are."""
NAMES: Final = ("character names", "stage names")


class Kept(NamedTuple):
    """All tables, and the numbers of characters and stages by name, in the order of their rows."""

    tables: Tables
    characters: dict[str, int]
    stages: dict[str, int]


def place(folder: Path) -> Path | None:
    """Where the tables of a folder are kept; None: nowhere."""
    cache = user_cache()
    if cache is None:
        return None
    digest = hashlib.sha256(np.__version__.encode())
    sources = (path for home in SOURCES for path in home.glob("*.py"))
    for path in sorted([*sources, *folder.rglob("*.toml")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return cache / f"tables-{digest.hexdigest()[:16]}.npz"


def kept_in(path: Path) -> Kept | None:
    """What was kept; None if nothing was, or it cannot be read."""
    with (
        suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile),
        np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file,
    ):
        arrays = {name: file[name] for name in file.files}
        characters, stages = (arrays.pop(name).tolist() for name in NAMES)
        for name, dtype in RECORDS.items():
            arrays[name] = arrays[name].view(dtype)[..., 0]
        tables = as_tables(**arrays)
        return Kept(tables, _numbers(characters, tables["characters"]), _numbers(stages, tables["stages"]))
    return None


def _numbers(names: list[str], rows: NDArray[np.void]) -> dict[str, int]:
    return dict(zip(names, rows["id"].tolist(), strict=True))


def keep(path: Path, kept: Kept) -> None:
    """Write tables in one step. If that fails, the next process reads the TOML files again."""
    arrays: dict[str, NDArray[Any]] = {}
    for name in kept.tables.dtype.names or ():
        array = np.ascontiguousarray(kept.tables[name])
        arrays[name] = array[..., None].view(np.uint8) if name in RECORDS else array
    arrays |= {NAMES[0]: np.array([*kept.characters]), NAMES[1]: np.array([*kept.stages])}
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type] # of its stubs
    with suppress(OSError), replacing(path, path.with_name(f"{path.name}.{os.getpid()}")) as temporary:
        temporary.write_bytes(content.getvalue())
