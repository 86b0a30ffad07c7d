"""An object file of LLVM becomes a wasm module, without a linker.

One object has all code and data, so the addresses and indices that its relocations would adjust are final already: the
sections for a linker are left out, and one with the exports is added. See the conventions of WebAssembly's tools,
``Linking.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from selfplay_melee.errors import WasmError

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
    sections: dict[int, bytes] = {}
    functions: dict[str, int] = {}
    reader = _Reader(data, 8)
    while reader:
        kind, body = reader.byte(), reader.take(reader.number())
        if kind != _CUSTOM:
            sections[kind] = body
            continue
        custom = _Reader(body)
        name = custom.text()
        if name == "linking":
            functions = _functions(custom)
        elif name.startswith("reloc."):
            _check_relocations(custom)
    if unknown := sorted(".".join(names) for names in _imports(_Reader(sections.get(_IMPORT, b"\0"))) - _IMPORTS):
        raise WasmError(f"the code needs {', '.join(unknown)}, which no page supplies")
    data_end = _data_end(_Reader(sections.get(_DATA, b"\0")))
    sections[_EXPORT] = number(len(exports))
    for symbol, name in exports.items():
        sections[_EXPORT] += _text(name) + b"\0" + number(functions[symbol])
    ordered = sorted(sections, key=_ORDER.index)
    return data[:8] + b"".join(section(kind, sections[kind]) for kind in ordered), data_end


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


def _imports(reader: _Reader) -> set[tuple[str, str]]:
    """Modules and names of what is imported."""
    found = set()
    for _ in range(reader.number()):
        found.add((reader.text(), reader.text()))
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
    return found


def _data_end(reader: _Reader) -> int:
    end = 0
    for _ in range(reader.number()):
        if reader.number() != 0 or reader.byte() != 0x41:  # at a constant i32
            raise WasmError("the object has data at no fixed address")
        at = reader.number()  # signed, but not negative
        reader.byte()
        size = reader.number()
        reader.take(size)
        end = max(end, at + size)
    return end


def _functions(reader: _Reader) -> dict[str, int]:
    """Indices of functions by symbol, from the section ``linking``."""
    found: dict[str, int] = {}
    reader.number()  # version
    while reader:
        kind, body = reader.byte(), _Reader(reader.take(reader.number()))
        if kind == 8:
            for _ in range(body.number()):
                _read_symbol(body, found)
    return found


def _read_symbol(reader: _Reader, functions: dict[str, int]) -> None:
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
            functions[name] = index


def _check_relocations(reader: _Reader) -> None:
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
