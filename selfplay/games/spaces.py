"""Spaces of Gymnasium: widths of observations that ``gymnasium.spaces.flatten`` gives, and actions as categoricals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from selfplay.games.api import MOST_CHOICES
from selfplay.games.errors import GameError

MASK: Final = "action_mask"  # which actions are legal: its key in observations and in infos
WIDEST: Final = 1 << 16  # features; a Discrete of billions is a number, not a one-hot
_NUMBERS: Final = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)

Space = spaces.Space[Any]


def features(space: Space, where: str) -> int:
    """Features of an observation; ``where`` begins messages."""
    for part in _parts(space):
        if not isinstance(part, _NUMBERS):
            names = "Box, Discrete, MultiDiscrete, MultiBinary, Dict, Tuple"
            raise _refused(space, where, f"no such observations (valid: {names})")
        if isinstance(part, spaces.Box) and part.dtype == np.uint8 and len(part.shape) > 1:
            raise _refused(space, where, "images are not supported yet")
    width = spaces.flatdim(space)
    if width > WIDEST:
        raise _refused(space, where, f"{width} features are too many (valid: up to {WIDEST})")
    return width


def flattened(space: Space, batch: Any, count: int) -> NDArray[Any]:  # noqa: ANN401
    """``gymnasium.spaces.flatten`` of many observations at once, as vector environments have them, [count, D]."""
    if isinstance(space, spaces.Dict):
        return np.hstack([flattened(part, batch[key], count) for key, part in space.spaces.items()])
    if isinstance(space, spaces.Tuple):
        return np.hstack([flattened(*part, count) for part in zip(space.spaces, batch, strict=True)])
    values: NDArray[Any] = np.asarray(batch).reshape(count, -1)
    if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
        sizes = np.ravel(space.n if isinstance(space, spaces.Discrete) else space.nvec)
        classes = (values - np.ravel(space.start)).T
        return np.hstack([each[:, None] == np.arange(size) for each, size in zip(classes, sizes, strict=True)])
    return values


def choices(space: Space, where: str) -> tuple[int, ...]:
    """Numbers of classes of the parts of an action; ``where`` begins messages."""
    if isinstance(space, spaces.Discrete):
        sizes = [int(space.n)]
    elif isinstance(space, spaces.MultiDiscrete):
        sizes = space.nvec.ravel().tolist()
    elif isinstance(space, spaces.MultiBinary):
        sizes = [2] * math.prod(space.shape)
    elif isinstance(space, spaces.Box):
        raise _refused(space, where, "continuous actions are not supported yet")
    else:
        raise _refused(space, where, "no such actions (valid: Discrete, MultiDiscrete, MultiBinary)")
    if max(sizes, default=0) > MOST_CHOICES:
        raise _refused(space, where, f"{max(sizes)} choices are too many (valid: up to {MOST_CHOICES})")
    return tuple(sizes)


def given(space: Space, classes: Sequence[int]) -> Any:  # noqa: ANN401
    """An action as an environment takes it: one class a part, from 0; further parts are left out."""
    if isinstance(space, spaces.Discrete):
        return int(classes[0]) + int(space.start)
    shape: tuple[int, ...] = space.shape or ()
    return np.array(classes[: math.prod(shape)], space.dtype).reshape(shape) + getattr(space, "start", 0)


def without_mask(space: Space) -> tuple[Any, Space]:
    """The key and the space of the one thing that is seen beside a mask; of anything else, None and the whole space."""
    if not isinstance(space, spaces.Dict):
        return None, space
    rest = {key: part for key, part in space.spaces.items() if key != MASK}
    return next(iter(rest.items())) if len(rest) == 1 else (None, spaces.Dict(rest))


def joined_mask(mask: Any, size: int, whose: str) -> NDArray[Any]:  # noqa: ANN401
    """A mask of several parts, or of one, [size]."""
    own: NDArray[Any] = np.hstack(mask) if isinstance(mask, (list, tuple)) else np.asarray(mask)
    if own.size != size:
        raise GameError(f"the {MASK} of {whose} has {own.size} entries (valid: {size})")
    return own.ravel()


def one_line(space: Space) -> str:
    """A space in its own words."""
    return " ".join(repr(space).split())


def _parts(space: Space) -> list[Space]:
    if isinstance(space, spaces.Dict):
        return [part for each in space.spaces.values() for part in _parts(each)]
    if isinstance(space, spaces.Tuple):
        return [part for each in space.spaces for part in _parts(each)]
    return [space]


def _refused(space: Space, where: str, why: str) -> GameError:
    return GameError(f"{where} {one_line(space)}: {why}")
