"""Where the machine code of compiled rules is kept, so that it is compiled once and never stale.

Numba's cache watches only the file of a function: after an edit of a rule that the function calls, or of a constant
in another module, it would load the old machine code. Here the cache folder is named by a hash of all sources of the
rules and of the versions of Numba and NumPy (see ``docs/adr/0015-private-options-of-numba.md``). Numba also names
folders by the path of the source; here they are named by its content, so that clones, worktrees and virtual
environments share what was compiled once.

A wheel for one kind of machine brings the machine code with it (``shipped_folder``). Otherwise the code is in the
user's cache folder. Where neither that nor the package can be written to, the cache is a folder of temporary files that
only this user can open, or there is none; one line says so (``find_cache``).
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numba
import numpy as np

from selfplay.distribution import package_folder
from selfplay.games.files import is_writable

_numba_config: Any = numba.config
_MELEE = package_folder("selfplay_melee")
_SHARED = (Path(__file__).with_name("compile.py"),)
"""Other modules that rules use."""
_UNCOMPILED = (  # folders without compiled rules
    "browser", "commands", "dolphin", "drawing", "imitation", "play", "play_page", "replays", "shipped", "show", "slp",
    "wasm",
)  # fmt: skip
_DECORATED = re.compile(r"^@(rule|compiled|kernel)\b", re.MULTILINE)
_TOLD = "SELFPLAY_CACHE_TOLD"  # set for child processes, which need not say again that the cache is elsewhere
SHIPPED: Final = _MELEE / "shipped"  # made by ``python -m scripts.wheels``


class Cache(NamedTuple):
    """Where compiled code is kept."""

    folder: Path | None  # None: nowhere
    trouble: str = ""  # why it is none of the usual folders


@cache
def find_cache() -> Cache:
    """The cache of the compiled code of exactly these sources: the first of several folders that can be written to.

    They are in the user's ``NUMBA_CACHE_DIR``, the user's cache folder unless others can write to it, the package, and
    a private temporary folder. If only the last or none can be used, one line on stderr says so. Child processes use
    the same and say nothing.
    """
    name = code_name()
    home = _user_cache()
    usual = [_MELEE / "__pycache__"]
    if home is not None:
        usual.insert(0, home)
    if _numba_config.CACHE_DIR:
        usual.insert(0, Path(_numba_config.CACHE_DIR))
    for place in usual:
        if place == home and not (_is_private(place) and _is_private(place / name)):
            continue
        if _is_writable(place / name):
            return Cache(place / name)
    private = _private_temporary_folder()
    kept = "is not kept, so that each start compiles again" if private is None else f"is kept in {private}"
    unwritable = " or ".join(map(str, usual))
    trouble = f"Compiled code {kept}: {unwritable} cannot be written to; NUMBA_CACHE_DIR names another folder"
    if not _numba_config.DISABLE_JIT and sys.stderr and _TOLD not in os.environ:
        sys.stderr.write(f"{trouble}\n")
    os.environ[_TOLD] = "1"
    if private is None:
        return Cache(None, trouble)
    os.environ["NUMBA_CACHE_DIR"] = str(private)
    return Cache(private / name, trouble)


def cache_folder() -> Path | None:
    """Folder of compiled code; None: there is no cache."""
    return find_cache().folder


def _user_cache() -> Path | None:
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "selfplay"
    except RuntimeError:  # a user without a home folder
        return None


def _private_temporary_folder() -> Path | None:
    """A folder that only this user can write to; None if it cannot be made."""
    folder = Path(tempfile.gettempdir()) / f"selfplay-{os.getuid()}"
    return folder if _is_private(folder) and _is_writable(folder) else None


def _is_private(folder: Path) -> bool:
    """Make a folder, or see that it is no link and no other user can write to it: Numba unpickles its files."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()  # not of what a link names
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o022 and found.st_uid == os.getuid()


@cache
def shipped_folder() -> Path | None:
    """Folder of the machine code that came with the package; None: none came, or it is of other sources or versions."""
    if not SHIPPED.is_dir():  # in a checkout nothing need be hashed for it
        return None
    folder = SHIPPED / code_name()
    return folder if folder.is_dir() else None


def code_name() -> str:
    """Name of a folder for the code of exactly these sources, by the versions of Numba and NumPy here."""
    versions = f"numba {numba.__version__} numpy {np.__version__} {sources_hash()}"
    return f"rules-{hashlib.sha256(versions.encode()).hexdigest()[:16]}"


def sources_hash() -> str:
    """Hash of the sources that compiled rules depend on. ``_UNCOMPILED`` is left out."""
    digest = hashlib.sha256()
    for path in _SHARED:
        digest.update(path.read_bytes())
    for path in sorted(_MELEE.rglob("*.py")):
        name = path.relative_to(_MELEE)
        if name.parts[0] not in _UNCOMPILED:
            digest.update(name.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def source_hash(file: Path) -> str:
    """Hash of a source and of the files with compiled functions in its folder, which it may call."""
    digest = hashlib.sha256(file.read_bytes())
    for path in sorted(file.parent.glob("*.py")):
        text = path.read_text("utf-8")
        if _DECORATED.search(text):
            digest.update(f"{path.name}\0{text}\0".encode())
    return digest.hexdigest()[:16]


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return is_writable(folder)
