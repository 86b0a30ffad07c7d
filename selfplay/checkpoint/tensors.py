"""Arrays by name as safetensors bytes.

Arrays of bool, integers and floats are stored directly; structured arrays as bytes, with their layout in the metadata.
safetensors checks types, shapes and places before anything is allocated; what it lets pass is checked here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Final, cast

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from pydantic import BaseModel, Field, JsonValue

from selfplay.checkpoint.documents import JsonObject, decode_json, parse
from selfplay.errors import CheckpointError, CorruptError, boundary

Array = NDArray[np.generic]
Arrays = Mapping[str, Array]

MAX_HEADER_BYTES: Final = 4 * 2**20
MAX_TENSORS: Final = 20_000
NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,255}")
TYPES: Final = ("BOOL", "U8", "I8", "U16", "I16", "F16", "U32", "I32", "F32", "U64", "I64", "F64")
_DTYPES: Final = frozenset("?bBhHiIlLqQefd")
_METADATA: Final = "__metadata__"


class _RecordLayout(BaseModel, frozen=True, extra="forbid"):
    """The layout of a structured array: scalar type and byte offset per field."""

    names: list[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]] = Field(min_length=1, max_length=1024)
    formats: list[Annotated[str, Field(pattern=r"^([<|][iu][1248]|<f[248]|[|]b1)$")]]
    offsets: list[Annotated[int, Field(ge=0, le=2**20)]]
    itemsize: int = Field(ge=1, le=2**20)
    align: bool

    def dtype(self) -> np.dtype[np.void]:
        """The numpy dtype; ValueError if the fields do not fit."""
        return np.dtype(
            {"names": self.names, "formats": self.formats, "offsets": self.offsets, "itemsize": self.itemsize},
            align=self.align,
        )


def encode_arrays(arrays: Arrays, what: str) -> bytes:
    """Encode arrays; CheckpointError for unsupported names or dtypes."""
    plain: dict[str, Array] = {}
    records: JsonObject = {}
    for name, array in arrays.items():
        if not _is_name(name):
            raise CheckpointError(f"{what}: {name!r} is not a valid array name")
        if array.dtype.names is not None:
            layout = _layout(array.dtype, f"{what}: {name}")
            records[name] = layout.model_dump()
            plain[name] = _as_bytes(cast("NDArray[np.void]", array), layout)
        elif array.dtype.char in _DTYPES:
            plain[name] = np.asarray(array, order="C")
        else:
            raise CheckpointError(f"{what}: {name} has dtype {array.dtype}, which is not supported")
    with boundary(CheckpointError, f"cannot serialise {what}"):
        metadata = {"records": json.dumps(records, sort_keys=True)} if records else None
        return safetensors.numpy.save(plain, metadata)


def decode_arrays(data: bytes, what: str) -> dict[str, Array]:
    """Decode arrays: writable, sorted by name; CorruptError for anything that ``encode_arrays`` would not write."""
    header = _header(data, what)
    records = _records(header.pop(_METADATA, {}), what)
    for name, entry in header.items():
        if not _is_name(name):
            raise CorruptError(f"{what}: {name[:80]!r} is not a valid tensor name")
        if isinstance(entry, dict) and (kind := entry.get("dtype")) not in TYPES:
            raise CorruptError(f"{what}: {name} has type {str(kind)[:20]!r}, valid: {', '.join(TYPES)}")
    with boundary(CorruptError, f"{what} is not a safetensors file"):
        arrays = safetensors.numpy.load(data)
        for name, record in records.items():
            array = arrays.get(name)
            if array is None or array.dtype != np.uint8 or array.shape[-1:] != (record.itemsize,):
                raise CorruptError(f"{what}: the record {name[:80]!r} does not match its tensor")
            arrays[name] = array.view(record.dtype())[..., 0]
    return dict(sorted(arrays.items()))


def _header(data: bytes, what: str) -> JsonObject:
    """The header, whose size and number of tensors are bounded, and whose names are unique."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8 or size > MAX_HEADER_BYTES:
        raise CorruptError(f"{what}: a header of {size} bytes in a file of {len(data)} (limit {MAX_HEADER_BYTES})")
    header = decode_json(data[8 : 8 + size], f"header of {what}")
    if len(header) > MAX_TENSORS:
        raise CorruptError(f"{what}: {len(header)} tensors, the limit is {MAX_TENSORS}")
    return header


def _records(metadata: JsonValue, what: str) -> dict[str, _RecordLayout]:
    """Layouts of structured arrays from the metadata, by tensor name."""
    text = metadata.get("records", "{}") if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise CorruptError(f"{what}: {_METADATA} must map text to text")
    layouts = decode_json(text.encode("utf-8", "backslashreplace"), f"records of {what}")
    return {
        name: parse(_RecordLayout, layout, f"{what}: record {name[:80]!r}", CorruptError)
        for name, layout in layouts.items()
    }


def _layout(dtype: np.dtype[np.generic], what: str) -> _RecordLayout:
    fields = [(name, *dtype.fields[name][:2]) for name in dtype.names or ()] if dtype.fields else []
    if any(field.char not in _DTYPES for _, field, _ in fields):
        raise CheckpointError(f"{what}: structured arrays may only have scalar fields of bool, integer and float")
    return _RecordLayout(
        names=[name for name, _, _ in fields],
        formats=[field.newbyteorder("<").str for _, field, _ in fields],
        offsets=[offset for _, _, offset in fields],
        itemsize=dtype.itemsize,
        align=dtype.isalignedstruct,
    )


def _as_bytes(array: NDArray[np.void], layout: _RecordLayout) -> Array:
    """A structured array [...] as bytes [..., itemsize], with zeroed padding."""
    clean = np.zeros((*array.shape, 1), layout.dtype())
    for name in layout.names:
        clean[name][..., 0] = array[name]
    return clean.view(np.uint8)


def _is_name(name: str) -> bool:
    return NAME.fullmatch(name) is not None and ".." not in name and "//" not in name and not name.endswith("/")
