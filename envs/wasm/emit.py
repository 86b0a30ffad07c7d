"""LLVM IR as one wasm module: llvmlite makes an object file, which becomes a module without a linker.

One object has all code and data, so the addresses and indices that its relocations would adjust are final already: the
sections for a linker are left out, and one with the exports is added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm

from envs.errors import GameError

TRIPLE: Final = "wasm32-unknown-unknown"
CPU: Final = "mvp"
FEATURES: Final = "+bulk-memory,+sign-ext"  # every browser since 2020; filling memory needs no function of C
_IMPORTS: Final = {("env", "__linear_memory"), ("env", "__stack_pointer")}
_CUSTOM, _IMPORT, _EXPORT, _DATA = 0, 2, 7, 11  # sections
_ORDER: Final = (1, 2, 3, 4, 5, 6, 13, _EXPORT, 8, 9, 12, 10, _DATA)  # of sections in a module
_WITH_ADDEND: Final = {3, 4, 5}  # relocations: addresses of memory
_FINAL: Final = _WITH_ADDEND | {0, 6, 7}  # those whose provisional value is right for a single object
_CONVERSION: Final = re.compile(r"= fpto([su])i (float|double) (\S+) to (i32|i64)\b")
_SHORT: Final = {"float": "f32", "double": "f64", "s": "signed", "u": "unsigned"}


class WasmError(GameError):
    """A module that cannot be made, or would not be sure to compute what Python does."""


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


# ---- object to module


@dataclass(slots=True)
class _Reader:
    """Reads what stands in a section, from its beginning."""

    data: bytes
    at: int = 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def take(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        """LEB128, not negative."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def text(self) -> str:
        return self.take(self.number()).decode()


def number(value: int) -> bytes:
    """LEB128 of a number that is not negative."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def section(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + number(len(body)) + body


def custom_section(name: str, content: bytes) -> bytes:
    """A section of any content, which may be put behind a module; pages read it by its name."""
    return section(_CUSTOM, _text(name) + content)


def _text(text: str) -> bytes:
    return number(len(text.encode())) + text.encode()


def link(data: bytes, exports: dict[str, str]) -> tuple[bytes, int]:
    """The module of an object file, and the end of its constants in memory.

    Args:
        data: The object.
        exports: The name that each function is exported by, by its symbol.

    Raises:
        WasmError: it imports more than memory and stack, or has addresses that are not final.
    """
    parsed = _Object(data)
    unknown = {name for name in parsed.imports if name not in _IMPORTS}
    if unknown:
        raise WasmError(
            f"the code needs {', '.join(sorted('.'.join(name) for name in unknown))}, which no page supplies"
        )
    body = number(len(exports))
    for symbol, name in exports.items():
        body += _text(name) + b"\0" + number(parsed.functions[symbol])
    sections = {**parsed.sections, _EXPORT: body}
    module = data[:8] + b"".join(section(kind, sections[kind]) for kind in _ORDER if kind in sections)
    return module, parsed.data_end


@dataclass(slots=True)
class _Object:
    """What an object file holds; see the conventions of WebAssembly's tools, ``Linking.md``."""

    data: bytes
    sections: dict[int, bytes] = field(default_factory=dict)
    imports: set[tuple[str, str]] = field(default_factory=set)
    functions: dict[str, int] = field(default_factory=dict)  # index by symbol
    data_end: int = 0

    def __post_init__(self) -> None:
        for kind, body in self._all():
            if kind != _CUSTOM:
                self.sections[kind] = body
                continue
            reader = _Reader(body)
            name = reader.text()
            if name == "linking":
                self._read_linking(reader)
            elif name.startswith("reloc."):
                self._read_relocations(reader)
        if _IMPORT in self.sections:
            self._read_imports(_Reader(self.sections[_IMPORT]))
        if _DATA in self.sections:
            self._read_data(_Reader(self.sections[_DATA]))

    def _all(self) -> Iterator[tuple[int, bytes]]:
        reader = _Reader(self.data, 8)
        while reader:
            yield reader.byte(), reader.take(reader.number())

    def _read_imports(self, reader: _Reader) -> None:
        for _ in range(reader.number()):
            self.imports.add((reader.text(), reader.text()))
            kind = reader.byte()
            if kind == 0:  # a function: its type
                reader.number()
            elif kind == 3:  # a global: its type, and whether it changes
                reader.take(2)
            else:  # a table or a memory: limits
                reader.take(1 if kind == 1 else 0)
                flags = reader.number()
                reader.number()
                if flags & 1:
                    reader.number()

    def _read_data(self, reader: _Reader) -> None:
        for _ in range(reader.number()):
            if reader.number() != 0 or reader.byte() != 0x41:  # at a constant i32
                raise WasmError("the object has data at no fixed address")
            at = reader.number()  # signed, but not negative
            reader.byte()
            size = reader.number()
            reader.take(size)
            self.data_end = max(self.data_end, at + size)

    def _read_linking(self, reader: _Reader) -> None:
        reader.number()  # version
        while reader:
            kind, body = reader.byte(), _Reader(reader.take(reader.number()))
            if kind == 8:
                for _ in range(body.number()):
                    self._read_symbol(body)

    def _read_symbol(self, reader: _Reader) -> None:
        kind, flags = reader.byte(), reader.number()
        undefined, named = flags & 0x10, flags & 0x40
        if kind == 1:  # data
            name = reader.text()
            if undefined:
                raise WasmError(f"the code needs data {name}, which no page supplies")
            for _ in range(3):
                reader.number()
        elif kind == 3:  # a section
            reader.number()
        else:
            index = reader.number()
            name = reader.text() if named or not undefined else ""
            if kind == 0 and name:
                self.functions[name] = index

    def _read_relocations(self, reader: _Reader) -> None:
        reader.number()  # index of the section
        for _ in range(reader.number()):
            kind = reader.byte()
            if kind not in _FINAL:
                raise WasmError(f"the object has a relocation of kind {kind}, which needs a linker")
            for _ in range(3 if kind in _WITH_ADDEND else 2):
                reader.number()
