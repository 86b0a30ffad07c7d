"""The decorators that compile the rules, with an on-disk cache that is never stale.

Numba's cache watches only the file of a function: after an edit of a rule that the function calls, or of a constant
in another module, it would load the old machine code. Here the cache folder is named by a hash of all sources of the
rules and of the versions of Numba and NumPy (see ``docs/adr/0015-private-options-of-numba.md``).

Under ``NUMBA_DISABLE_JIT=1`` the rules run uncompiled, with equal results.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np

_Function = TypeVar("_Function", bound=Callable[..., Any])

# Exact floats: compiled and uncompiled rules must agree. "numpy": a division needs no check for zero.
# Without Numba's reference counts ("_nrt") a rule cannot create arrays, but twice as many frames are played: the
# counts are atomic, and those of the tables are shared by all threads.
_OPTIONS: dict[str, Any] = {"fastmath": False, "error_model": "numpy", "_nrt": False}
_njit: Any = numba.njit  # its stubs leave out the options of ``rule``
numba_config: Any = numba.config
_MELEE = Path(__file__).resolve().parent / "melee"
_UNCOMPILED = ("dolphin", "drawing", "slp")  # folders without compiled rules


def rule(function: _Function) -> _Function:
    """Compile a function that only compiled functions call.

    It has no wrapper for calls from Python, which halves the compile time.
    """
    result: _Function = _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)
    return result


def compiled(function: _Function) -> _Function:
    """Compile a function that Python calls, on its first call, or load it from the cache.

    It runs without the GIL. It may read and write its array arguments, but not create arrays.
    """
    previous = numba_config.CACHE_DIR
    numba_config.CACHE_DIR = str(cache_folder())  # read when the cache of a function is set up, which is here
    try:
        result: _Function = _njit(nogil=True, cache=True, **_OPTIONS)(function)
    finally:
        numba_config.CACHE_DIR = previous
    return result


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether a call of a ``@compiled`` function starts at once: its code is there or cached, or it runs uncompiled.

    Numba's own index is asked: it uses no code of a source that is elsewhere or has changed, nor of another processor.
    """
    if numba_config.DISABLE_JIT:
        return True
    dispatcher: Any = function
    if dispatcher.signatures:
        return True
    files = getattr(dispatcher._cache, "_cache_file", None)
    if files is None:  # there is no cache
        return False
    codegen = dispatcher.targetctx.codegen()
    return any(
        key == dispatcher._cache._index_key(key[0], codegen) and Path(files._data_path(name)).is_file()
        for key, name in files._load_index().items()
    )


@cache
def cache_folder() -> Path:
    """Writable cache folder of the compiled rules of exactly these sources."""
    name = f"rules-{sources_hash()}"
    in_tree = _MELEE / "__pycache__" / name
    if numba_config.CACHE_DIR:  # the user's own NUMBA_CACHE_DIR
        return Path(numba_config.CACHE_DIR) / name
    if _is_writable(in_tree):
        return in_tree
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "selfplay" / name


def sources_hash() -> str:
    """Hash of everything that compiled rules depend on: the sources of the mock, and the versions of Numba and NumPy.

    ``_UNCOMPILED`` is left out.
    """
    digest = hashlib.sha256(f"numba {numba.__version__} numpy {np.__version__}".encode())
    digest.update(Path(__file__).read_bytes())
    for path in sorted(_MELEE.rglob("*.py")):
        name = path.relative_to(_MELEE)
        if name.parts[0] not in _UNCOMPILED:
            digest.update(name.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
