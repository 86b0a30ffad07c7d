"""LLVM IR as one wasm module, through llvmlite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm

from selfplay_melee.errors import WasmError
from selfplay_melee.wasm.link import link

TRIPLE: Final = "wasm32-unknown-unknown"
CPU: Final = "mvp"
FEATURES: Final = "+bulk-memory,+sign-ext"  # every browser since 2020; filling memory needs no function of C
_CONVERSION: Final = re.compile(r"= fpto([su])i (float|double) (\S+) to (i32|i64)\b")
_SHORT: Final = {"float": "f32", "double": "f64", "s": "signed", "u": "unsigned"}


def emit(text: str, exports: Sequence[str], prefix: str, constants_to: int) -> tuple[bytes, int]:
    """A module, and the end of its constants in memory.

    Args:
        text: IR of any target.
        exports: Names of functions, exported without ``prefix``.
        prefix: Of these functions in the IR.
        constants_to: The address that constants must not reach.

    Raises:
        WasmError: this llvmlite has no wasm32; the code needs something that no page supplies, or has a conversion
            whose result outside its range is undefined, or too many constants.
    """
    machine = target_machine()
    module = optimised(text, [prefix + name for name in exports], machine)
    if found := re.search(r"\bfpto[su]i\b.*", str(module)):
        raise WasmError(f"a conversion of a float has no defined result outside its range: {found.group()}")
    made, end = link(machine.emit_object(module), {prefix + name: name for name in exports})
    if end > constants_to:
        raise WasmError(f"constants reach byte {end} of the memory, the stack may need it from byte {constants_to} on")
    return made, end


def target_machine() -> Any:
    """LLVM for wasm32.

    Raises:
        WasmError: this llvmlite has none.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(TRIPLE)
    except RuntimeError as error:
        raise WasmError(f"llvmlite {llvmlite.__version__} was built without WebAssembly: {error}") from error
    return target.create_target_machine(cpu=CPU, features=FEATURES, opt=2)


def optimised(text: str, kept: Sequence[str], machine: Any) -> Any:
    """The module of an IR for a target machine, optimised; functions other than ``kept`` are internal."""
    module = llvm.parse_assembly(_retargeted(text, machine))
    module.verify()
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name in kept else "internal"
    options = llvm.create_pipeline_tuning_options(2)
    options.loop_vectorization = options.slp_vectorization = False
    passes = llvm.create_pass_builder(machine, options)
    for _ in range(2):  # the second finds more to inline, as Numba's own two do
        passes.getModulePassManager().run(module, passes)
    return module


def _retargeted(text: str, machine: Any) -> str:
    """The same IR for wasm32.

    LLVM leaves it open what a conversion to a whole number gives outside its range. wasm's instructions trap there, so
    that it is reported; processors give some number in silence. Its intrinsics are those instructions.
    """
    text = re.sub(r"^target (triple|datalayout).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r'"(target-cpu|target-features|tune-cpu|probe-stack)"="[^"]*"', "", text)
    text = text.replace("= common ", "= internal ")  # wasm has no such symbols
    declared = set()

    def trapping(match: re.Match[str]) -> str:
        sign, source, value, target = match.groups()
        name = f"@llvm.wasm.trunc.{_SHORT[sign]}.{target}.{_SHORT[source]}"
        declared.add(f"declare {target} {name}({source})")
        return f"= call {target} {name}({source} {value})"

    text = _CONVERSION.sub(trapping, text)
    head = [f'target datalayout = "{machine.target_data}"', f'target triple = "{TRIPLE}"']
    return "\n".join([*head, text, *sorted(declared), ""])
