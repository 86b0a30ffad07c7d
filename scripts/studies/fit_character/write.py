"""Writing a fitted file: TOML of tables, numbers, texts and lists of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

MARK: Final = "# Written by `python -m scripts.studies.fit_character`; changes by hand are lost.\n"
WIDTH: Final = 118


def text(content: Mapping[str, Mapping[str, object]]) -> str:
    """The whole file."""
    lines = [MARK]
    for name, table in content.items():
        _add(lines, name, table)
    return "\n".join(lines).rstrip() + "\n"


def _add(lines: list[str], name: str, table: Mapping[str, object]) -> None:
    values = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    if values:
        lines += [f"[{name}]", *(_line(key, value) for key, value in values.items()), ""]
    for key, value in table.items():
        if isinstance(value, Mapping):
            _add(lines, f"{name}.{key}", value)


def _line(key: str, value: object) -> str:
    """``key = value``; a long list on several lines."""
    whole = f"{key} = {_value(value)}"
    if len(whole) <= WIDTH or not isinstance(value, Sequence):
        return whole
    rows, row = [], ""
    for item in map(_value, value):
        if len(row) + len(item) > WIDTH:
            rows.append(row)
            row = ""
        row += f" {item},"
    return "\n".join([f"{key} = [", *(f" {line}" for line in (*rows, row)), "]"])


def _value(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
