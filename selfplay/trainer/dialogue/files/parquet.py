"""Tables on disk: rows to the bytes of a parquet file, and back. PyArrow is asked for here alone."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint.store import MAX_FILE_BYTES
from selfplay.errors import ConfigError, CorruptError, boundary
from selfplay.files import read_file

if TYPE_CHECKING:
    import pyarrow

Shape = str | list["Shape"] | dict[str, "Shape"]
"""Type of a column: `string`, `int64`, ..; [its elements']; {field: its}."""


def to_parquet(rows: Sequence[Mapping[str, Any]], shape: Mapping[str, Shape], about: Mapping[str, str]) -> bytes:
    """A file of rows with the given columns, and with words about it.

    Raises:
        ConfigError: a row has another shape, or PyArrow is not installed.
    """
    pa = _pyarrow()
    schema = pa.schema([(name, _type(pa, kind)) for name, kind in shape.items()], metadata=dict(about))
    buffer = io.BytesIO()
    with boundary(ConfigError, "cannot make a parquet file"):
        pa.parquet.write_table(pa.Table.from_pylist(list(rows), schema), buffer)
    return buffer.getvalue()


def from_parquet(path: Path, columns: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Rows of a file, of them some columns (of a nested one, `column.field`); and the words about it.

    Raises:
        CorruptError: it cannot be read, or lacks a column.
        ConfigError: PyArrow is not installed.
    """
    pa = _pyarrow()
    data = read_file(path, MAX_FILE_BYTES)
    with boundary(CorruptError, f"{path} is no parquet file"):
        file = pa.parquet.ParquetFile(pa.BufferReader(data))
        there = {file.schema.column(i).path for i in range(len(file.schema.names))}
        for column in columns:
            if not any(place == column or place.startswith(f"{column}.") for place in there):
                raise CorruptError(f"{path}: lacks the column {column}")
        rows = file.read(columns=list(columns), use_threads=False).to_pylist()
        about = file.schema_arrow.metadata or {}
    return rows, {key.decode(errors="replace"): value.decode(errors="replace") for key, value in about.items()}


def _pyarrow() -> Any:  # noqa: ANN401
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is missing, which writes parquet: pip install -e '.[dialogue]'") from error
    return pyarrow


def _type(pa: Any, shape: Shape) -> pyarrow.DataType:  # noqa: ANN401
    if isinstance(shape, list):
        return pa.list_(_type(pa, shape[0]))
    if isinstance(shape, dict):
        return pa.struct([(name, _type(pa, kind)) for name, kind in shape.items()])
    return getattr(pa, shape)()
