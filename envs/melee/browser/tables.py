"""The tables of a page: those of the characters and the stage that it shows, as bytes for ``rules.js``."""

from __future__ import annotations

import struct
from collections.abc import Collection

import numpy as np

from envs.melee.tables import tables_of


def table_bytes(characters: Collection[str], stages: Collection[str]) -> bytes:
    """Tables of some characters and stages alone: each table in the order of ``Tables``, behind its length in 32 bits.

    The same module reads them as reads the tables of all: only their number of rows differs.

    Raises:
        UnknownNameError: there is no such character or stage.
    """
    tables = tables_of(characters, stages)
    arrays = [np.ascontiguousarray(tables[name]).tobytes() for name in tables.dtype.names or ()]
    return b"".join(struct.pack("<I", len(array)) + array for array in arrays)
