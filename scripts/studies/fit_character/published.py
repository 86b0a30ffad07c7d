"""Heights of hulls that other projects publish: ``envs/selfplay_melee/tables/hulls/NAME.toml``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

import selfplay_melee.tables
from selfplay_melee.tables.layout import HULL_FRAMES
from selfplay_melee.tables.row import action_id, open_table

FOLDER: Final = Path(selfplay_melee.tables.__file__).parent / "hulls"


def read_published(folder: Path = FOLDER) -> dict[str, dict[int, NDArray[np.float64]]]:
    """Heights on each frame [HULL_FRAMES] by name of the character and action; after the last one it stays.

    Raises:
        TableError: a file is inconsistent.
    """
    found: dict[str, dict[int, NDArray[np.float64]]] = {}
    for path in sorted(folder.glob("*.toml")):
        top = open_table(path)
        top.sources()
        rows = top.table("heights")
        found[path.stem] = {action_id(rows, name): _curve(rows.numbers(name)) for name in list(rows.left)}
        top.done()
    return found


def _curve(heights: list[float]) -> NDArray[np.float64]:
    return np.array((heights + heights[-1:] * HULL_FRAMES)[:HULL_FRAMES])
