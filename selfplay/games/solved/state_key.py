"""Equal keys for equal states of a game, whose objects have no equality of their own."""

from __future__ import annotations

import copyreg
from collections.abc import Hashable
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from selfplay.games.solved.chance import GENERATORS

_PLAIN: Final = (type(None), bool, int, str, bytes, complex)
_BY_IDENTITY: Final = (type, FunctionType, BuiltinFunctionType, ModuleType)


def state_key(state: object) -> Hashable:
    """A key that is equal for states from which play goes on equally.

    Types, order of entries, and which parts are the same object count. Generators of random numbers do not: what they
    draw next is chance. What cannot be looked into is like nothing else.
    """
    return _key(state, {})


def _key(value: Any, seen: dict[int, tuple[int, object]]) -> Hashable:  # noqa: ANN401
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if kind is float:
        return kind, repr(value)  # tells 0.0 from -0.0, and nan is nan
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    if isinstance(value, GENERATORS):
        return "generator"
    if isinstance(value, _BY_IDENTITY):
        return value
    if id(value) in seen:
        return "seen", seen[id(value)][0]
    if kind is not tuple:
        seen[id(value)] = len(seen), value  # kept, or another object might get its id
    if kind in (list, tuple):
        return kind, *(_key(each, seen) for each in value)
    if kind is dict:
        return kind, *((_key(name, seen), _key(each, seen)) for name, each in value.items())
    if kind in (set, frozenset):
        return kind, frozenset(_key(each, seen) for each in value)
    if kind is np.ndarray and value.dtype != object:
        return kind, value.shape, value.dtype.str, value.tobytes()
    return _object(value, seen)


def _object(value: Any, seen: dict[int, tuple[int, object]]) -> Hashable:  # noqa: ANN401
    """Key of an object by its parts, as ``copy`` takes it apart."""
    if isinstance(value, partial):
        return partial, _key([value.func, value.args, value.keywords], seen)
    if isinstance(value, MethodType):
        return MethodType, _key([value.__func__, value.__self__], seen)
    own = _key(getattr(value, "__dict__", None), seen)  # also what a class leaves out where it is pickled
    try:
        reduce = copyreg.dispatch_table.get(type(value))
        parts = value.__reduce_ex__(4) if reduce is None else reduce(value)
    except TypeError:  # it cannot be taken apart
        return id(value), object()
    if isinstance(parts, str):
        return parts
    # parts 3 and 4 are iterators over entries
    listed = [list(part) if i > 2 and part is not None else part for i, part in enumerate(parts)]
    return _key(type(value), seen), own, *(_key(part, seen) for part in listed)
