"""Documents with one value replaced: where the values are, what replaces them, and the bytes that result."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any, Final, Literal

Form = Literal["json", "rows", "csv", "toml"]
Place = tuple[str | int, ...]

ABSENT: Final = object()
LONG: Final = 200_000
VALUES: Final[dict[str, Any]] = {
    "text": "x",
    "long text": "x" * LONG,
    "list": [],
    "list of lists": [[1], ["x"]],
    "object": {},
    "object of objects": {"x": {"y": 1}},
    "null": None,
    "true": True,
    "zero": 0,
    "negative": -1,
    "fraction": 1.5,
    "huge": 10**400,
    "NaN": float("nan"),
    "absent": ABSENT,
    "long key": {"x" * LONG: 1},
}
CELLS: Final = {
    "nothing": "", "text": "x", "number": "7", "NaN": "nan", "huge": "1e400", "long text": "x" * LONG,
    "zero byte": "\0", "quote": '"x', "several": "a,b,c", "letters": "\x1b[2J",
}  # fmt: skip
_FIRST: Final = 2  # items of a list that are replaced: the others are of the same kind


def places(document: Any, place: Place = ()) -> Iterator[Place]:  # noqa: ANN401
    """The document itself, and every value in it."""
    yield place
    items: Any = ()
    if isinstance(document, dict):
        items = document.items()
    elif isinstance(document, list):
        items = list(enumerate(document))[:_FIRST]
    for key, value in items:
        yield from places(value, (*place, key))


def replaced(document: Any, place: Place, value: Any) -> Any:  # noqa: ANN401
    """A copy with ``value`` at a place, or without that place."""
    if not place:
        return None if value is ABSENT else value
    copy = document.copy()
    if len(place) > 1:
        copy[place[0]] = replaced(copy[place[0]], place[1:], value)
    elif value is ABSENT:
        del copy[place[0]]
    else:
        copy[place[0]] = value
    return copy


def mutations(data: bytes, form: Form) -> Iterator[tuple[Place, str, bytes]]:
    """Place, name of the value, and the content of the file with that value; of rows and cells the first row."""
    if form == "csv":
        table = list(csv.reader(io.StringIO(data.decode())))
        for row in range(min(_FIRST, len(table))):
            for column in range(len(table[row])):
                for name, cell in CELLS.items():
                    yield (row, column), name, _csv(replaced(table, (row, column), cell))
        return
    if form == "toml":
        import tomllib

        tables = tomllib.loads(data.decode())
        for place in places(tables):
            for name, value in VALUES.items():
                if place and value is not None and name != "long key":
                    yield place, name, _toml(replaced(tables, place, value))
        return
    first, end, rest = data.partition(b"\n") if form == "rows" else (data, b"", b"")
    document = json.loads(first)
    for place in places(document):
        for name, value in VALUES.items():
            yield place, name, json.dumps(replaced(document, place, value)).encode() + end + rest


def _csv(table: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(table)
    return text.getvalue().encode()


def _toml(tables: dict[str, Any]) -> bytes:
    """The tables, each as one line."""
    return "".join(f"{name} = {_inline(value)}\n" for name, value in tables.items()).encode()


def _inline(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {_inline(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return "nan" if isinstance(value, float) and value != value else json.dumps(value)
