"""The decorators that compile the rules, with an on-disk cache that is never stale.

Numba's cache watches only the file of a function: after an edit of a rule that the function calls, or of a constant
in another module, it would load the old machine code. Here the cache folder is named by a hash of all sources of the
rules and of the versions of Numba and NumPy (see ``docs/adr/0015-private-options-of-numba.md``). Numba also names
folders by the path of the source; here they are named by its content, so that clones, worktrees and virtual
environments share what was compiled once.

Where neither the user's cache folder nor the package can be written to, the cache is a folder of temporary files that
only this user can open, or there is none; one line says so (``find_cache``).

Under ``NUMBA_DISABLE_JIT=1`` the rules run uncompiled, with equal results.
"""

from __future__ import annotations

import gc
import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

import numba
import numpy as np
from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

from envs.files import is_writable

_Function = TypeVar("_Function", bound=Callable[..., Any])

# Exact floats: compiled and uncompiled rules must agree. "numpy": a division needs no check for zero.
# Without Numba's reference counts ("_nrt") a rule cannot create arrays, but twice as many frames are played: the
# counts are atomic, and those of the tables are shared by all threads.
_OPTIONS: dict[str, Any] = {"fastmath": False, "error_model": "numpy", "_nrt": False}
_njit: Any = numba.njit  # its stubs leave out the options of ``rule``
numba_config: Any = numba.config
_MELEE = Path(__file__).resolve().parent / "melee"
_SHARED = tuple(Path(__file__).with_name(name) for name in ("compile.py", "rated.py"))  # that rules use as well
_UNCOMPILED = ("browser", "dolphin", "drawing", "slp")  # folders without compiled rules
_DECORATED = re.compile(r"^@(rule|compiled|kernel)\b", re.MULTILINE)
_TOLD = "SELFPLAY_CACHE_TOLD"  # set for child processes, which need not say again that the cache is elsewhere


class _Rule(CPUDispatcher):
    """What Numba makes of a rule. Compiled callers do not come here, and Numba itself would end the interpreter."""

    def __call__(self, *_args: object, **_kwargs: object) -> NoReturn:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        raise TypeError(f"{name} is a @rule: only compiled functions can call it; Python calls @compiled functions")

    def get_call_template(  # type: ignore[override] # its stubs have other types
        self, args: tuple[types.Type, ...], kws: dict[str, types.Type]
    ) -> object:
        """One variant for all whole numbers: Numba would compile one per constant and one per width of an argument."""
        return super().get_call_template(tuple(map(_widest, args)), {name: _widest(of) for name, of in kws.items()})


def _widest(of: types.Type) -> types.Type:
    of = types.unliteral(of)
    return types.int64 if isinstance(of, types.Integer) and cast("Any", of).signed else of


class Library(JITCodeLibrary):
    """Code of a ``@compiled`` function, with that of all rules below it: LLVM optimises them as one module."""

    def add_linking_library(self, library: CodeLibrary) -> None:
        super().add_linking_library(library)
        for callee in library._linking_libraries if isinstance(library, _RuleLibrary) else ():
            if callee not in self._linking_libraries:
                self.add_linking_library(callee)


class _RuleLibrary(JITCodeLibrary):
    """Code of a rule, for libraries to link: it is neither optimised by itself nor made machine code of."""

    def finalize(self) -> None:
        self._finalized = True


class _Unnamed(tuple[Any, ...]):
    """Types of arguments, without their names: Numba writes them out at each pass, and those of records are long."""

    __slots__ = ()

    def __str__(self) -> str:
        return ""


class _Compiler(Compiler):
    """Of ``@compiled`` functions."""

    def compile_extra(self, func: Callable[..., object]) -> object:
        # A seventh of the time went into looking for garbage among what the compiler keeps.
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collects:
                gc.enable()

    def define_pipelines(self) -> object:
        self.state.args = _Unnamed(self.state.args)
        self.state.library = self._library()
        return super().define_pipelines()

    def _library(self) -> CodeLibrary:
        library = Library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        library.enable_object_caching()
        return library


class _RuleCompiler(_Compiler):
    def _library(self) -> CodeLibrary:
        context = self.state.targetctx  # of this compilation alone
        context.get_executable = _placeholder
        return _RuleLibrary(context.codegen(), self.state.func_id.func_qualname)


def _placeholder(*_arguments: object) -> object:
    """What Numba takes for the machine code of a rule: a key of its own for each."""
    return [].append  # it must be a built-in function


def rule(function: _Function) -> _Function:
    """Compile a function that only compiled functions call.

    It has no machine code and no wrapper for calls from Python, which takes most of the compile time; such a call is
    refused.
    """
    options = _OPTIONS | {"pipeline_class": _RuleCompiler}
    result: Any = _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)
    if not numba_config.DISABLE_JIT:
        result.__class__ = _Rule
    return cast("_Function", result)


def compiled(function: _Function) -> _Function:
    """Compile a function that Python calls, on its first call, or load it from the cache.

    It runs without the GIL. It may read and write its array arguments, but not create arrays.
    """
    return _cached(function, _OPTIONS)


def kernel(function: _Function) -> _Function:
    """Compile a function outside the rules that Python calls, with Numba's usual options; it may create arrays.

    The cache watches the compiled functions of its folder alone, so everything that it calls must be there.
    """
    return _cached(function, {})


class _Locator:
    """Names the folder of a function's code by the contents of its source, not by the path of the source.

    It has what Numba asks of a locator; the classes of Numba's own have other names in each version.
    """

    def __init__(self, function: Callable[..., Any], file: Path) -> None:
        self._folder = cast("Path", cache_folder()) / f"{file.stem}-{_source_hash(file)}"
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Locator:
        return cls(function, Path(file))

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name  # has the hash

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Implementation(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_Locator]  # noqa: RUF012  (as Numba declares it)


class _FunctionCache(FunctionCache):
    _impl_class = _Implementation


_make_cache: Any = _FunctionCache  # its constructor has no types


def _source_hash(file: Path) -> str:
    """Hash of a source and of the files with compiled functions in its folder, which it may call."""
    digest = hashlib.sha256(file.read_bytes())
    for path in sorted(file.parent.glob("*.py")):
        text = path.read_text("utf-8")
        if _DECORATED.search(text):
            digest.update(f"{path.name}\0{text}\0".encode())
    return digest.hexdigest()[:16]


def _cached(function: _Function, options: dict[str, Any]) -> _Function:
    """Compile without the GIL, with the cache if there is one."""
    result: Any = _njit(nogil=True, pipeline_class=_Compiler, **options)(function)
    if cache_folder() is not None and not numba_config.DISABLE_JIT:
        result._cache = _make_cache(function)
    return cast("_Function", result)


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
    name = f"rules-{sources_hash()}"
    home = _user_cache()
    usual = [_MELEE / "__pycache__"]
    if home is not None:
        usual.insert(0, home)
    if numba_config.CACHE_DIR:
        usual.insert(0, Path(numba_config.CACHE_DIR))
    for place in usual:
        if (place != home or _is_private(place)) and _is_writable(place / name):
            return Cache(place / name)
    private = _private_temporary_folder()
    kept = "is not kept, so that each start compiles again" if private is None else f"is kept in {private}"
    unwritable = " or ".join(map(str, usual))
    trouble = f"Compiled code {kept}: {unwritable} cannot be written to; NUMBA_CACHE_DIR names another folder"
    if not numba_config.DISABLE_JIT and sys.stderr and _TOLD not in os.environ:
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


def sources_hash() -> str:
    """Hash of everything that compiled rules depend on: their sources, and the versions of Numba and NumPy.

    ``_UNCOMPILED`` is left out.
    """
    digest = hashlib.sha256(f"numba {numba.__version__} numpy {np.__version__}".encode())
    for path in _SHARED:
        digest.update(path.read_bytes())
    for path in sorted(_MELEE.rglob("*.py")):
        name = path.relative_to(_MELEE)
        if name.parts[0] not in _UNCOMPILED:
            digest.update(name.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return is_writable(folder)
