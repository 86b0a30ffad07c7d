"""Where the values that a module works on lie in its memory, and what is exported to work on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

STACK_TOP: Final = 1 << 20  # bytes; constants of the code lie below the stack, which grows down from here
MIN_STACK: Final = 1 << 18  # bytes that constants must leave
_ALIGNMENT: Final = 64

Value = Any  # an array, a record, a number, or a NamedTuple of values
Type = Any  # of JSON: see ``describe``


@dataclass(frozen=True, slots=True)
class Entry:
    """An exported function: it calls a rule with the same arguments each time."""

    name: str
    rule: Callable[..., Any]  # ``@rule`` or ``@compiled``
    arguments: tuple[str | int, ...]  # each a constant, or the path of values: ``games`` or ``games.players``


@dataclass(frozen=True, slots=True)
class Program:
    """What a module consists of. A function without arguments gives it, see ``selfplay_melee.wasm.build.build``."""

    entries: tuple[Entry, ...]
    values: Mapping[str, Value]  # by name; their content does not matter, their types and shapes do

    def value(self, path: str) -> Value:
        name, *parts = path.split(".")
        value = self.values[name]
        for part in parts:
            value = getattr(value, part)
        return value


def layout(program: Program) -> dict[str, Any]:
    """What a page must know of a module's memory, for JSON. The module also says where its ``constants`` end.

    Returns:
        stack: First byte above the stack.
        end: First byte behind all values.
        values: By path, ``{"at": address, "type": type}``, see ``describe``. A number is 8 bytes.
    """
    at, values = STACK_TOP, {}
    for path, value in _leaves(program.values):
        at += -at % _ALIGNMENT
        array = np.asarray(value)
        values[path] = {"at": at, "type": describe(np.dtype((array.dtype, array.shape)))}
        at += array.nbytes
    return {"stack": STACK_TOP, "end": at, "values": values}


def describe(dtype: np.dtype[Any]) -> Type:
    """A type for JSON: ``"f8"``, ``{"shape", "of"}`` of arrays, ``{"size", "fields": {name: [offset, type]}}``."""
    if dtype.subdtype is not None:
        return {"shape": list(dtype.shape), "of": describe(dtype.base)}
    if dtype.fields is None:
        return dtype.str[1:]  # without the order of its bytes: wasm has one
    fields = {name: [dtype.fields[name][1], describe(dtype.fields[name][0])] for name in dtype.names or ()}
    return {"size": dtype.itemsize, "fields": fields}


def _leaves(values: Mapping[str, Value], before: str = "") -> Iterator[tuple[str, Value]]:
    for name, value in values.items():
        if isinstance(value, tuple):
            yield from _leaves(value._asdict(), f"{before}{name}.")  # type: ignore[attr-defined] # a NamedTuple
        else:
            yield before + name, value
