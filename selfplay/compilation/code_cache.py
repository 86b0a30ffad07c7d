"""Where the machine code of compiled rules is kept, so that it is compiled once and never stale.

Numba's cache watches only the file of a function: after an edit of a rule that the function calls, or of a constant
in another module, it would load the old machine code. Here the cache folder is named by a hash of all sources of the
rules and of the versions of Numba and NumPy (see ``docs/adr/0015-private-options-of-numba.md``). Numba also names
folders by the path of the source; here they are named by its content, so that clones, worktrees and virtual
environments share what was compiled once.

A package with rules in several folders says so in its ``__init__.py``: ``UNCOMPILED`` names the folders without rules,
and all its other sources are hashed. Compiled functions may call rules of their own folder, and of such packages that
a file of their folder imports.

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
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import numba
import numpy as np

from selfplay.games.files import is_writable, user_cache

_numba_config: Any = numba.config
_PACKAGE: Final = Path(__file__).resolve().parents[1]
_SHARED = (Path(__file__).with_name("compile.py"),)
"""Modules of the trainer that rules use."""
_DECORATED = re.compile(r"^@(rule|compiled|kernel)\b", re.MULTILINE)
_IMPORTED = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)
_TOLD = "SELFPLAY_CACHE_TOLD"  # set for child processes, which need not say again that the cache is elsewhere


class Cache(NamedTuple):
    """Where compiled code is kept."""

    folder: Path | None  # None: nowhere
    trouble: str = ""  # why it is none of the usual folders


@cache
def find_cache(name: str) -> Cache:
    """The cache of compiled code by its ``code_name``: the first of several folders that can be written to.

    They are in the user's ``NUMBA_CACHE_DIR``, the user's cache folder unless others can write to it, the package, and
    a private temporary folder. If only the last or none can be used, one line on stderr says so. Child processes use
    the same and say nothing.
    """
    home = user_cache()
    usual = [_PACKAGE / "__pycache__"]
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


def cache_folder(package: str, *called: str) -> Path | None:
    """Folder of compiled code of a package, see ``code_name``; None: there is no cache."""
    return find_cache(code_name(package, *called)).folder


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


def shipped_root(package: str) -> Path:
    """Folder for the compiled code that comes with a package, made by ``python -m scripts.wheels``."""
    return Path(import_module(package).__path__[0]).resolve() / "shipped"


@cache
def shipped_folder(package: str, *called: str) -> Path | None:
    """Folder of the machine code that came with a package; None: none came, or it is of other sources or versions."""
    if not getattr(sys.modules.get(package), "__path__", None):  # a module alone
        return None
    root = shipped_root(package)
    if not root.is_dir():  # in a checkout nothing need be hashed for it
        return None
    folder = root / code_name(package, *called)
    return folder if folder.is_dir() else None


@cache
def code_name(package: str, *called: str) -> str:
    """Name of a folder for the code of a package that calls rules of others, with the Numba and NumPy of here."""
    hashes = " ".join(sources_hash(name) for name in (package, *called))
    versions = f"numba {numba.__version__} numpy {np.__version__} {hashes}"
    return f"{package}-{hashlib.sha256(versions.encode()).hexdigest()[:16]}"


def uncompiled(package: str) -> tuple[str, ...] | None:
    """Folders of a package without compiled rules; None: it says nothing of rules."""
    return getattr(sys.modules.get(package), "UNCOMPILED", None)


def sources_hash(package: str) -> str:
    """Hash of the sources that compiled rules of a package depend on, outside the folder of each."""
    digest = hashlib.sha256()
    for path in _SHARED:
        digest.update(path.read_bytes())
    if (left_out := uncompiled(package)) is not None:
        folder = Path(sys.modules[package].__path__[0])
        for path in sorted(folder.rglob("*.py")):
            name = path.relative_to(folder)
            if name.parts[0] not in left_out:
                digest.update(name.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def called_packages(file: Path) -> tuple[str, ...]:
    """Packages of rules that are imported by the compiled functions of a folder, which may call theirs."""
    imported = {name for text in compiled_sources(file.parent).values() for name in _IMPORTED.findall(text)}
    return tuple(sorted(name for name in imported if uncompiled(name) is not None))


def source_hash(file: Path) -> str:
    """Hash of a source and of the files with compiled functions in its folder, which it may call."""
    digest = hashlib.sha256(file.read_bytes())
    for name, text in compiled_sources(file.parent).items():
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()[:16]


@cache
def compiled_sources(folder: Path) -> dict[str, str]:
    """The files with compiled functions in a folder, by name."""
    found = {path.name: path.read_text("utf-8") for path in sorted(folder.glob("*.py"))}
    return {name: text for name, text in found.items() if _DECORATED.search(text)}


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return is_writable(folder)
