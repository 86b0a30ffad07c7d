"""What a page needs to play the mock: the module of its rules, the tables of a game, and the script that uses both."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

import numpy as np

from selfplay_melee.tables import tables_of
from selfplay_melee.wasm.build import build

RULES_JS: Final = Path(__file__).with_name("rules.js")
PROGRAM: Final = "selfplay_melee.browser.program:mock_program"


def rules_module(notify: Callable[[str], object] | None = None) -> bytes:
    """The rules of all characters and stages as a WebAssembly module. The first call takes about a minute.

    Args:
        notify: Called with lines about the progress; by default they go to standard error.

    Raises:
        WasmError: it cannot be built.
    """
    return build(PROGRAM, notify)


def table_bytes(characters: Collection[str], stages: Collection[str]) -> bytes:
    """Tables of some characters and stages alone: each table in the order of ``Tables``, behind its length in 32 bits.

    The module reads them as it reads the tables of all: only their number of rows differs.

    Raises:
        UnknownNameError: there is no such character or stage.
    """
    tables = tables_of(characters, stages)
    arrays = [np.ascontiguousarray(tables[name]).tobytes() for name in tables.dtype.names or ()]
    return b"".join(struct.pack("<I", len(array)) + array for array in arrays)
