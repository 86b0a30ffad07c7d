"""Reads and writes parquet files with PyArrow, with limits for untrusted files."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint.store import MAX_FILE_BYTES
from selfplay.distribution import install_command
from selfplay.errors import ConfigError, CorruptError, boundary
from selfplay.files import read_file

if TYPE_CHECKING:
    import pyarrow.parquet

BATCH: Final = 8  # rows decoded at once; each may repeat the longest value of its file
COMPRESSIONS: Final = ("UNCOMPRESSED", "SNAPPY")
PLAIN: Final = "texts, numbers and truth values, lists and groups of them"
FLAT: Final = ("null", "boolean", "integer", "floating", "string", "large_string")
EXTENSION: Final = b"ARROW:extension:name"
# Limits of a file, in all and per byte; small files may always have FLOOR.
FLOOR: Final = 2**24
MAX_VALUES, MOST_VALUES = 2**28, 64
MAX_HELD_BYTES, MOST_HELD = 2**31, 1024
OBJECT_BYTES: Final = 256  # of a dict or list in Python, which may take less than a byte in the file
MAX_CHUNK_BYTES, MOST_UNPACKED = 2**29, 64  # per column of a row group

Shape = str | list["Shape"] | dict[str, "Shape"]
"""Type of a column: `string`, `int64`, ..; [its elements']; {field: its}."""


def to_parquet(rows: Sequence[Mapping[str, Any]], shape: Mapping[str, Shape], about: Mapping[str, str]) -> bytes:
    """Rows with the given columns and metadata; ConfigError if one does not match, or without PyArrow."""
    pa = _pyarrow()
    schema = pa.schema([(name, _type(pa, kind)) for name, kind in shape.items()], metadata=dict(about))
    buffer = io.BytesIO()
    with boundary(ConfigError, "cannot make a parquet file"):
        pa.parquet.write_table(pa.Table.from_pylist(list(rows), schema), buffer)
    return buffer.getvalue()


def from_parquet(path: Path, columns: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Rows of a file with some columns (`column.field` of nested ones), and its metadata.

    Raises:
        CorruptError: an invalid file, or a missing column.
        ConfigError: PyArrow is not installed.
    """
    pa = _pyarrow()
    data = read_file(path, MAX_FILE_BYTES)
    with boundary(CorruptError, f"{path} is no parquet file"):
        _check(pa.parquet.read_metadata(pa.BufferReader(data)), len(data), path, columns)
        file = pa.parquet.ParquetFile(pa.BufferReader(data))
        for field in file.schema_arrow:
            if _is_of(field.name, columns) and not _is_plain(pa, field.type):
                raise CorruptError(f"{path}: {field.name[:80]} is of type {str(field.type)[:80]}; valid: {PLAIN}")
        there = {file.schema.column(i).path for i in range(len(file.schema.names))}
        for column in columns:
            if not any(place == column or place.startswith(f"{column}.") for place in there):
                raise CorruptError(f"{path}: lacks the column {column}")
        rows, held, most = list[dict[str, Any]](), 0, min(MAX_HELD_BYTES, max(FLOOR, len(data) * MOST_HELD))
        for batch in file.iter_batches(BATCH, columns=list(columns), use_threads=False):
            made = batch.num_rows + sum(_objects(pa, column) for column in batch.columns)
            held += batch.nbytes + made * OBJECT_BYTES
            if held > most:
                raise CorruptError(f"{path}: more than {most} bytes of rows in a file of {len(data)}")
            rows += batch.to_pylist()
        about = file.schema_arrow.metadata or {}
    return rows, {key.decode(errors="replace"): value.decode(errors="replace") for key, value in about.items()}


def _is_of(name: str, columns: Sequence[str]) -> bool:
    """Return True if a field, a part of it, or the field that contains it is among the columns to read."""
    return any(f"{name}.".startswith(f"{column}.") or f"{column}.".startswith(f"{name}.") for column in columns)


def _objects(pa: Any, array: pyarrow.Array) -> int:  # noqa: ANN401
    """Number of dicts and lists that its values become."""
    if pa.types.is_struct(array.type):
        return len(array) + sum(_objects(pa, array.field(place)) for place in range(array.type.num_fields))
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return len(array) + _objects(pa, array.flatten())
    return 0


def _is_plain(pa: Any, kind: pyarrow.DataType) -> bool:  # noqa: ANN401
    """Return True if the file's size bounds the size in memory; dictionaries and views may repeat values."""
    types = pa.types
    if types.is_list(kind) or types.is_large_list(kind):
        return _is_plain(pa, kind.value_type)
    if types.is_struct(kind):
        return all(_is_plain(pa, field.type) for field in kind)
    return any(getattr(types, f"is_{name}")(kind) for name in FLAT)


def _check(footer: pyarrow.parquet.FileMetaData, size: int, path: Path, columns: Sequence[str]) -> None:
    """Refuse files that could decode to far more than their size, before decoding.

    Snappy, the default of most writers, compresses at most about twenty times; others thousands of times. A repeated
    value is stored once in the file, and many times in memory.
    """
    if EXTENSION in base64.b64decode((footer.metadata or {}).get(b"ARROW:schema", b"")):
        raise CorruptError(f"{path}: extension types are not supported")
    values = 0
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for column in (group.column(place) for place in range(group.num_columns)):
            values += max(0, column.num_values)
            if not _is_of(column.path_in_schema, columns):
                continue
            name = column.path_in_schema[:80]
            if column.compression not in COMPRESSIONS:
                known = ", ".join(COMPRESSIONS)
                raise CorruptError(f"{path}: {name} is compressed with {column.compression}; valid: {known}")
            if not 0 <= column.total_uncompressed_size <= min(MAX_CHUNK_BYTES, max(FLOOR, size * MOST_UNPACKED)):
                raise CorruptError(f"{path}: {name} unpacks to {column.total_uncompressed_size} bytes")
    if max(values, footer.num_rows) > min(MAX_VALUES, max(FLOOR, size * MOST_VALUES)):
        raise CorruptError(f"{path}: {footer.num_rows} rows of {values} values in a file of {size} bytes")


def _pyarrow() -> Any:  # noqa: ANN401
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is missing, which writes parquet: {install_command('dialogue')}") from error
    return pyarrow


def _type(pa: Any, shape: Shape) -> pyarrow.DataType:  # noqa: ANN401
    if isinstance(shape, list):
        return pa.list_(_type(pa, shape[0]))
    if isinstance(shape, dict):
        return pa.struct([(name, _type(pa, kind)) for name, kind in shape.items()])
    return getattr(pa, shape)()
