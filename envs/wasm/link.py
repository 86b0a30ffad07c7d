"""An object file of LLVM becomes a wasm module, without a linker.

One object has all code and data, so the addresses and indices that its relocations would adjust are final already: the
sections for a linker are left out, and one with the exports is added.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from envs.errors import WasmError

_IMPORTS: Final = {("env", "__linear_memory"), ("env", "__stack_pointer")}
_CUSTOM, _IMPORT, _EXPORT, _DATA = 0, 2, 7, 11  # sections
_ORDER: Final = (1, _IMPORT, 3, 4, 5, 6, _EXPORT, 8, 9, 12, 10, _DATA)  # of the sections of a module
_WITH_ADDEND: Final = {3, 4, 5}  # relocations: addresses of memory
_FINAL: Final = _WITH_ADDEND | {0, 6, 7}  # those whose provisional value is right for a single object


def link(data: bytes, exports: dict[str, str]) -> tuple[bytes, int]:
    """The module of an object file, and the end of its constants in memory.

    Args:
        data: The object.
        exports: The name that each function is exported by, by its symbol.

    Raises:
        WasmError: it imports more than memory and stack, or has addresses that are not final.
    """
    parsed = _Object(data)
    if unknown := sorted(".".join(name) for name in parsed.imports - _IMPORTS):
        raise WasmError(f"the code needs {', '.join(unknown)}, which no page supplies")
    body = number(len(exports))
    for symbol, name in exports.items():
        body += _text(name) + b"\0" + number(parsed.functions[symbol])
    sections = {**parsed.sections, _EXPORT: body}
    ordered = sorted(sections, key=_ORDER.index)
    return data[:8] + b"".join(section(kind, sections[kind]) for kind in ordered), parsed.data_end


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
