"""A module comes with the package, or is built on first use, in a process of its own, and kept with compiled rules."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from selfplay.compilation.code_cache import cache_folder, shipped_root, sources_hash
from selfplay.compilation.progress import tell_progress
from selfplay.distribution import python_path
from selfplay.games.files import alone, replacing
from selfplay_melee.errors import WasmError
from selfplay_melee.wasm.link import custom_section
from selfplay_melee.wasm.memory import Program, layout

USUALLY: Final = "usually 20 to 60 s, a few minutes on a busy machine"
_OWN: Final = Path(__file__).resolve().parent


def build(name: str, tell: Callable[[str], object] | None = None) -> bytes:
    """The module of a program, with its ``layout`` as a custom section. Blocks, for a minute on the first call.

    Args:
        name: Of the function that gives the program, such as ``selfplay_melee.browser.program:mock_program``. Its rules
            are hashed by ``selfplay.compilation.code_cache.sources_hash``, and its own file here.
        tell: Called with lines about the progress; by default they go to standard error.

    Raises:
        WasmError: it cannot be built.
    """
    end = signature(name, load_program(name))
    if (shipped := _kept(shipped_root("selfplay_melee") / file_name(name), end)) is not None:
        return shipped
    folder = cache_folder("selfplay_melee")
    path = folder and folder / f"{name.replace(':', '-')}-{hashlib.sha256(end).hexdigest()[:16]}.wasm"
    if path is None:
        return _built(name, end, tell)
    if (kept := _kept(path, end)) is None:
        with alone(path.with_suffix(".lock")):
            if (kept := _kept(path, end)) is None:
                kept = _built(name, end, tell)
                with suppress(OSError), replacing(path, path.with_name(f"{path.name}.{os.getpid()}")) as temporary:
                    temporary.write_bytes(kept)  # a disk that is full does not cost the module
    return kept


def file_name(name: str) -> str:
    """Of the module of a program, in a package."""
    return f"{name.replace(':', '-')}.wasm"


def _kept(path: Path, end: bytes) -> bytes | None:
    if path.is_file() and (kept := path.read_bytes()).endswith(end):
        return kept
    return None


def _built(name: str, end: bytes, tell: Callable[[str], object] | None) -> bytes:
    module = _build(name, tell)
    if not module.endswith(end):
        raise WasmError("sources of the rules changed while they were compiled; try again")
    return module


def load_program(name: str) -> Program:
    module, _, function = name.partition(":")
    program: Program = getattr(importlib.import_module(module), function)()
    return program


def signature(name: str, program: Program) -> bytes:
    """The last section of a module: a hash of all sources that it depends on, and of its layout."""
    own = (*sorted(_OWN.glob("*.py")), Path(str(sys.modules[name.partition(":")[0]].__file__)))
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in own]
    parts = [sources_hash("selfplay_melee"), json.dumps(layout(program)), *hashes]
    return custom_section("sources", hashlib.sha256("\n".join(parts).encode()).digest())


def _build(name: str, tell: Callable[[str], object] | None) -> bytes:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as errors:
        module = Path(folder) / "module.wasm"
        process = subprocess.Popen(
            [sys.executable, "-m", "selfplay_melee.wasm", name, str(module)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=_OWN.parents[2],
            env=os.environ | {"PYTHONPATH": python_path(), "NUMBA_DISABLE_JIT": "0"},
        )

        def wait(seconds: float) -> bool:
            try:
                failed = process.wait(seconds)
            except subprocess.TimeoutExpired:
                return False
            if failed:
                errors.seek(0)
                said = errors.read().decode(errors="replace").strip() or f"it ended with exit code {failed}"
                raise WasmError(f"the game rules cannot be compiled for browsers: {said}")
            return True

        try:
            tell_progress(wait, "the game rules", f"for browsers, the first time only: {USUALLY}", tell)
        finally:
            process.kill()
            process.wait()
        return module.read_bytes()
