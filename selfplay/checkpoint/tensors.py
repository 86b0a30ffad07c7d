"""Arrays by name as safetensors bytes.

Arrays of bool, integers and floats are stored directly; structured arrays as bytes, with their layout in the metadata.
Limits and tensor sizes are checked before anything is allocated.
"""

from __future__ import annotations

import json
import math
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
MAX_DIMENSIONS: Final = 16
NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,255}")
ITEM_BYTES: Final = {
    "BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "F16": 2,
    "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip
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


class _Tensor(BaseModel, frozen=True, extra="forbid"):
    """A header entry of a safetensors file."""

    dtype: str
    shape: list[Annotated[int, Field(ge=0, le=2**53)]] = Field(max_length=MAX_DIMENSIONS)
    data_offsets: tuple[int, int]


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
    """Decode arrays: writable, sorted by name.

    Raises:
        CorruptError: anything that ``encode_arrays`` would not write.
    """
    header, start = _header(data, what)
    records = _records(header.pop(_METADATA, {}), what)
    tensors = {name: _tensor(name, entry, what) for name, entry in header.items()}
    _check_spans(sorted(tensor.data_offsets for tensor in tensors.values()), len(data) - start, what)
    for name, record in records.items():
        tensor = tensors.get(name)
        if tensor is None or tensor.dtype != "U8" or tensor.shape[-1:] != [record.itemsize]:
            raise CorruptError(f"{what}: the record {name[:80]!r} does not match its tensor")
    with boundary(CorruptError, f"{what} is not a safetensors file"):
        arrays = safetensors.numpy.load(data)
        for name, record in records.items():
            arrays[name] = arrays[name].view(record.dtype())[..., 0]
    return dict(sorted(arrays.items()))


def _header(data: bytes, what: str) -> tuple[JsonObject, int]:
    """The header, and the offset of the tensors."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8 or size > MAX_HEADER_BYTES:
        raise CorruptError(f"{what}: a header of {size} bytes in a file of {len(data)} (limit {MAX_HEADER_BYTES})")
    header = decode_json(data[8 : 8 + size], f"header of {what}")
    if len(header) > MAX_TENSORS:
        raise CorruptError(f"{what}: {len(header)} tensors, the limit is {MAX_TENSORS}")
    return header, 8 + size


def _tensor(name: str, entry: JsonValue, what: str) -> _Tensor:
    """A header entry whose size matches its shape."""
    tensor = parse(_Tensor, entry, f"{what}: {name[:80]!r}", CorruptError)
    if not _is_name(name):
        raise CorruptError(f"{what}: {name[:80]!r} is not a valid tensor name")
    if tensor.dtype not in ITEM_BYTES:
        raise CorruptError(f"{what}: {name} has type {tensor.dtype[:20]!r}, valid: {', '.join(ITEM_BYTES)}")
    begin, end = tensor.data_offsets
    if end - begin != math.prod(tensor.shape) * ITEM_BYTES[tensor.dtype]:
        raise CorruptError(f"{what}: {name} of shape {tensor.shape} does not fit bytes {begin} to {end}")
    return tensor


def _check_spans(spans: list[tuple[int, int]], size: int, what: str) -> None:
    position = 0
    for begin, end in spans:
        if begin != position:
            raise CorruptError(f"{what}: tensors overlap or leave a gap at byte {min(begin, position)}")
        position = end
    if position != size:
        raise CorruptError(f"{what}: tensors end at byte {position}, the data at {size}")


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
