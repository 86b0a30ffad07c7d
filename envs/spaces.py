"""Spaces of Gymnasium: observations as rows of features, actions as categoricals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from envs.api import F32
from envs.errors import GameError

MOST_CHOICES: Final = 127  # an action is an int8
WIDEST: Final = 1 << 16  # features; a Discrete of billions is a number, not a one-hot

Space = spaces.Space[Any]
Write = Callable[[Any, F32], None]


@dataclass(frozen=True, slots=True)
class Features:
    """An observation space: ``write`` puts a value into the first ``width`` features of a row of zeros."""

    width: int
    write: Write


@dataclass(frozen=True, slots=True)
class Choices:
    """An action space: the sizes of its parts, their smallest numbers, and how the environment is given an action.

    ``make`` takes one class a part, from 0; further parts are left out.
    """

    sizes: tuple[int, ...]
    starts: tuple[int, ...]
    make: Callable[[Sequence[int]], Any]


def features(space: Space, where: str) -> Features:
    """An observation space as features; ``where`` begins messages.

    Raises:
        GameError: a space that is not supported.
    """
    width, write = _writer(space, 0, where)
    if width > WIDEST:
        raise _refused(space, where, f"{width} features are too many (valid: up to {WIDEST})")
    return Features(width, write)


def choices(space: Space, where: str) -> Choices:
    """An action space as parts with a number of classes each; ``where`` begins messages.

    Raises:
        GameError: a space that is not supported.
    """
    if isinstance(space, spaces.Discrete):
        first = int(space.start)
        found = Choices((int(space.n),), (first,), lambda parts: int(parts[0]) + first)
    elif isinstance(space, spaces.MultiDiscrete) and len(space.shape) == 1:
        sizes, start, dtype = tuple(space.nvec.tolist()), space.start, space.dtype
        found = Choices(sizes, tuple(start.tolist()), lambda parts: np.array(parts[: len(sizes)], dtype) + start)
    elif isinstance(space, spaces.MultiBinary):
        shape, width = space.shape, math.prod(space.shape)
        found = Choices((2,) * width, (0,) * width, lambda parts: np.array(parts[:width], np.int8).reshape(shape))
    elif isinstance(space, spaces.Box):
        raise _refused(space, where, "continuous actions are not supported yet")
    else:
        raise _refused(space, where, "no such actions (valid: Discrete, MultiDiscrete of one dimension, MultiBinary)")
    if max(found.sizes, default=0) > MOST_CHOICES:
        raise _refused(space, where, f"{max(found.sizes)} choices are too many (valid: up to {MOST_CHOICES})")
    return found


def one_line(space: Space) -> str:
    """A space in its own words."""
    return " ".join(repr(space).split())


def _writer(space: Space, start: int, where: str) -> tuple[int, Write]:
    """The end of a space's features that begin at ``start``, and what writes a value there."""
    if isinstance(space, (spaces.Box, spaces.MultiBinary)):
        if space.dtype == np.uint8 and len(space.shape) > 1:
            raise _refused(space, where, "images are not supported yet")
        return _numbers(start, math.prod(space.shape))
    if isinstance(space, spaces.Discrete):
        return _one_hots(start, np.array([space.n]), np.array([space.start]))
    if isinstance(space, spaces.MultiDiscrete):
        return _one_hots(start, space.nvec.ravel(), space.start.ravel())
    if isinstance(space, spaces.Dict):
        keys: Sequence[Any] = sorted(space.spaces)
        parts = [space.spaces[key] for key in keys]
    elif isinstance(space, spaces.Tuple):
        keys, parts = range(len(space.spaces)), [*space.spaces]
    else:
        raise _refused(
            space, where, "no such observations (valid: Box, Discrete, MultiDiscrete, MultiBinary, Dict, Tuple)"
        )
    writes = []
    for key, part in zip(keys, parts, strict=True):
        start, write = _writer(part, start, where)
        writes.append((key, write))

    def write_parts(value: Any, row: F32) -> None:  # noqa: ANN401
        for key, write in writes:
            write(value[key], row)

    return start, write_parts


def _numbers(start: int, width: int) -> tuple[int, Write]:
    span = slice(start, start + width)

    def write(value: Any, row: F32) -> None:  # noqa: ANN401
        row[span] = np.asarray(value).reshape(width)

    return start + width, write


def _one_hots(start: int, sizes: Any, first: Any) -> tuple[int, Write]:  # noqa: ANN401
    ends = start + np.cumsum(sizes)
    shift = ends - sizes - first

    def write(value: Any, row: F32) -> None:  # noqa: ANN401
        at = np.asarray(value).reshape(len(sizes)) + shift
        if (at < ends - sizes).any() or (at >= ends).any():
            raise ValueError("out of range")
        row[at] = 1.0

    return int(ends[-1]), write


def _refused(space: Space, where: str, why: str) -> GameError:
    return GameError(f"{where} {one_line(space)}: {why}")
