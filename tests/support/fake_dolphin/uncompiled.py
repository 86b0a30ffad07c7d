"""The rules as plain Python, which start at once.

To import Numba, to load compiled code and to read the tables of all characters takes two seconds of each start. Without
them a frame takes 1.5 ms, so games of less than a thousand frames take less in all. Results are equal, see
``selfplay.compilation.compile``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

_NAMES: Final = {"CHARACTERS": "names of characters", "STAGES": "names of stages"}
_NUMBERED: Final = np.dtype([("name", "U32"), ("number", "i4")])


def write_tables(path: Path) -> None:
    """Keep what was read of the tables for ``use_uncompiled``."""
    from selfplay_melee import tables

    loaded = tables.load_tables()
    arrays: dict[str, Any] = {name: loaded[name] for name in loaded.dtype.names or ()}
    for name, key in _NAMES.items():
        arrays[key] = np.array(list(getattr(tables, name).items()), _NUMBERED)
    np.savez(path, **arrays)


def use_uncompiled(path: Path) -> None:
    """Let the rules, none of which is imported yet, be plain functions, with the tables of a file."""
    decorators: Any = ModuleType("selfplay.compilation.compile")
    decorators.rule = decorators.compiled = decorators.kernel = _unchanged
    decorators.is_compiled = lambda function: True
    sys.modules["selfplay.compilation.compile"] = decorators

    from selfplay_melee import tables
    from selfplay_melee.tables.layout import as_tables

    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    for name, key in _NAMES.items():
        setattr(tables, name, dict(arrays.pop(key).tolist()))
    loaded = as_tables(**arrays)
    tables.load_tables = lambda folder=None: loaded  # type: ignore[assignment]


def _unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    return function
