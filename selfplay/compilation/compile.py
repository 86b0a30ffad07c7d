"""The decorators that compile the rules.

Numba compiles each function on its own, for a call from Python: it optimises all that the function calls, makes machine
code and wrappers, and does so again for each constant and width of an argument. Of some 480 rules 20 are called from
Python. So only those are compiled (``compiled``); the others are lowered once, for those to link (``rule``).
``selfplay/compilation/code_cache.py`` keeps the machine code. See ``docs/adr/0015-private-options-of-numba.md``.

Under ``NUMBA_DISABLE_JIT=1`` the rules run uncompiled, with equal results.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar, cast

import llvmlite.binding as llvm
import numba
from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from selfplay.compilation.code_cache import cache_folder, called_packages, shipped_folder, source_hash
from selfplay.games.files import alone

_Function = TypeVar("_Function", bound=Callable[..., Any])

# Exact floats: compiled and uncompiled rules must agree. "numpy": a division needs no check for zero.
# Without Numba's reference counts ("_nrt") a rule cannot create arrays, but twice as many frames are played: the
# counts are atomic, and those of the tables are shared by all threads.
_OPTIONS: dict[str, Any] = {"fastmath": False, "error_model": "numpy", "_nrt": False}
_KERNEL: Final[dict[str, Any]] = {"error_model": "numpy"}  # a check for zero keeps a loop from vector instructions
_njit: Any = numba.njit  # its stubs leave out the options of ``rule``
numba_config: Any = numba.config


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
    """Code of a rule, for libraries to link. Numba neither optimises it alone nor makes machine code of it."""

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
        context.get_executable = placeholder
        return _RuleLibrary(context.codegen(), self.state.func_id.func_qualname)


def placeholder(*_arguments: object) -> object:
    """What Numba takes for the machine code of a function that has none: a key of its own for each."""
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

    It runs without the GIL. It may read and write its array arguments, but not create arrays. A package whose rules are
    in several folders says so (``selfplay/compilation/code_cache.py``).
    """
    return _cached(function, _OPTIONS)


def kernel(function: _Function) -> _Function:
    """Compile a function outside the rules that Python calls; it may create arrays. Division by 0 is not an error.

    The cache watches the compiled functions of its folder alone, so everything that it calls must be there.
    """
    return _cached(function, _KERNEL)


def inner(function: _Function) -> _Function:
    """A function of the same file that a ``kernel`` calls."""
    return cast("_Function", _njit(nogil=True, **_KERNEL)(function))


def _packages(function: Callable[..., Any]) -> tuple[str, ...]:
    """The package of a function, and those with rules that it may call."""
    own = function.__module__.partition(".")[0]
    called = called_packages(Path(function.__code__.co_filename))
    return own, *(name for name in called if name != own)


def _folder(function: Callable[..., Any]) -> Path | None:
    """Folder of machine code: one that can be written to if there is one."""
    packages = _packages(function)
    return cache_folder(*packages) or shipped_folder(*packages)


class _Locator:
    """Names the folder of a function's code by the contents of its source, not by the path of the source.

    It has what Numba asks of a locator; the classes of Numba's own have other names in each version.
    """

    def __init__(self, function: Callable[..., Any], file: Path) -> None:
        self._folder = cast("Path", _folder(function)) / f"{file.stem}-{source_hash(file)}"
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
    """The cache of a function: code that came with the package, then what this user has compiled.

    A damaged file is compiled again. If the disk is full, the code is kept in this process only.
    """

    _impl_class = _Implementation

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        folder = shipped_folder(*_packages(function))
        stamp = self._impl.locator.get_source_stamp()
        self._shipped: Any = folder and IndexDataCacheFile(str(folder / stamp), self._impl.filename_base, stamp)

    def load_overload(self, sig: object, target_context: Any) -> object:  # noqa: ANN401
        try:
            found = self._shipped_overload(sig, target_context)
            return super().load_overload(sig, target_context) if found is None else found
        except Exception:  # whatever reading a pickle raises
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: object, data: object) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)

    def has_code(self, codegen: Any) -> bool:  # noqa: ANN401
        """Whether any signature has code for this machine. Numba's own indices are asked: files may be of old code."""
        for files in (self._cache_file, self._shipped):
            index = {} if files is None else files._load_index()
            for key, name in index.items():
                if Path(files._data_path(name)).is_file() and self._is_usable(key, key[0], codegen, files):
                    return True
        return False

    def _shipped_overload(self, sig: object, target_context: Any) -> object:  # noqa: ANN401
        target_context.refresh()
        codegen = target_context.codegen()
        for key in {} if self._shipped is None else self._shipped._load_index():
            if self._is_usable(key, sig, codegen, self._shipped):
                return self._impl.rebuild(target_context, self._shipped.load(key))
        return None

    def _is_usable(self, key: Any, sig: object, codegen: Any, files: object) -> bool:  # noqa: ANN401
        """Whether an entry is of a signature, of this function's code, and of a processor like this one."""
        wanted = self._index_key(sig, codegen)
        if files is self._shipped:
            return bool(key[::2] == wanted[::2] and runs_here(*key[1]))
        return bool(key == wanted)


def runs_here(triple: str, _processor: str, features: str) -> bool:
    """Whether code for a target of LLVM, which a processor may exceed, runs on this machine."""
    here = llvm.get_host_cpu_features()
    needed = [name[1:] for name in features.split(",") if name.startswith("+")]
    return triple == llvm.get_process_triple() and all(here.get(name) for name in needed)


class _Compiled(CPUDispatcher):
    """What Numba makes of a function that Python calls. Of several processes one compiles it; the others load it."""

    def compile(self, sig: Any) -> Any:  # noqa: ANN401
        # Numba's lock comes first: a thread that holds it must not wait for one that waits for it.
        with global_compiler_lock, alone(cast("Path", _folder(self.py_func)) / f"{self.py_func.__qualname__}.lock"):
            return super().compile(sig)


def _cached(function: _Function, options: dict[str, Any]) -> _Function:
    """Compile without the GIL, with the cache if there is one."""
    result: Any = _njit(nogil=True, pipeline_class=_Compiler, **options)(function)
    if _folder(function) is not None and not numba_config.DISABLE_JIT:
        result.__class__ = _Compiled
        result._cache = _FunctionCache(function)
    return cast("_Function", result)


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether a call of a ``@compiled`` function starts at once: its code is there or cached, or it runs uncompiled."""
    if numba_config.DISABLE_JIT:
        return True
    dispatcher: Any = function
    if dispatcher.signatures:
        return True
    cache = dispatcher._cache
    return isinstance(cache, _FunctionCache) and cache.has_code(dispatcher.targetctx.codegen())
