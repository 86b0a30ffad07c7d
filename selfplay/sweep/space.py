"""The values that the settings of a sweep may have, and how settings are drawn from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Self

import numpy as np
from pydantic import JsonValue, ValidationError, model_validator

from selfplay.config.base import Group
from selfplay.errors import ConfigError, first_problem
from selfplay.seeding import derive

Values = dict[str, JsonValue]
"""A setting of the sweep: the values that differ between settings, by dotted name."""
TRIES: Final = 1000  # draws for one more setting that is not there yet


class Range(Group):
    """Numbers from ``low`` to ``high``, whole ones if both ends are; ``log``: alike likely in each power of ten."""

    low: int | float
    high: int | float
    log: bool = False

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low {self.low:g} must be below high {self.high:g}")
        if self.log and self.low <= 0:
            raise ValueError(f"low {self.low:g} must be above 0 with log")
        return self

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def draw(self, rng: np.random.Generator) -> int | float:
        low, high = float(self.low), float(self.high) + self.whole
        value = math.exp(rng.uniform(math.log(low), math.log(high))) if self.log else float(rng.uniform(low, high))
        return min(int(value), int(self.high)) if self.whole else min(max(value, low), high)


Choices = tuple[JsonValue, ...]


@dataclass(frozen=True, slots=True)
class Space:
    """The swept settings by dotted name, and the values that all cells share."""

    swept: Mapping[str, Choices | Range]
    fixed: Values

    @property
    def ranges(self) -> list[str]:
        return [name for name, values in self.swept.items() if isinstance(values, Range)]

    @property
    def size(self) -> int | None:
        """How many settings there are; None with a range."""
        lists = [values for values in self.swept.values() if not isinstance(values, Range)]
        return math.prod(map(len, lists)) if len(lists) == len(self.swept) else None

    def grid(self) -> list[Values]:
        """All combinations of lists, the last setting changing fastest."""
        lists = [values for values in self.swept.values() if not isinstance(values, Range)]
        return [dict(zip(self.swept, combination, strict=True)) for combination in product(*lists)]

    def corners(self) -> list[Values]:
        """The setting of all first values or lower ends, and that of all last values or upper ends."""
        ends = [(v.low, v.high) if isinstance(v, Range) else (v[0], v[-1]) for v in self.swept.values()]
        return [dict(zip(self.swept, side, strict=True)) for side in zip(*ends, strict=True)]

    def draw(self, rng: np.random.Generator) -> Values:
        return {
            name: values.draw(rng) if isinstance(values, Range) else values[int(rng.integers(len(values)))]
            for name, values in self.swept.items()
        }

    def sample(self, count: int, seed: int) -> list[Values]:
        """So many different settings. More of them begin with the same ones."""
        found: list[Values] = []
        for i in range(count):
            rng = np.random.default_rng(derive(seed, "sweep", i))
            drawn = next((values for values in self._draws(rng) if values not in found), None)
            if drawn is None:
                raise ConfigError(f"samples {count}: only {len(found)} different settings were found")
            found.append(drawn)
        return found

    def _draws(self, rng: np.random.Generator) -> Iterator[Values]:
        for _ in range(TRIES):
            yield self.draw(rng)


def space_of(settings: Mapping[str, Any], place: str) -> Space:
    """A list has the values to choose from, a table is a range, and any other value is the same in all cells.

    ConfigError names ``place`` where a value is invalid.
    """
    swept: dict[str, Choices | Range] = {}
    fixed: Values = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            swept[name] = _range(value, f"{place} {name}")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            swept[name] = _choices(value, f"{place} {name}")
        else:
            fixed[name] = value
    if not swept:
        raise ConfigError(f"{place}: no setting has a list of values or a range, such as {{low = 1e-4, high = 1e-2}}")
    return Space(swept, fixed)


def _choices(values: Sequence[Any], place: str) -> Choices:
    if not values:
        raise ConfigError(f"{place}: the list is empty")
    if again := [value for i, value in enumerate(values) if value in values[:i]]:
        raise ConfigError(f"{place}: {again[0]!r} is there twice")
    return tuple(values)


def _range(values: Mapping[str, Any], place: str) -> Range:
    if unknown := values.keys() - Range.model_fields.keys():
        raise ConfigError(f"{place}: unknown key {min(unknown)!r} (valid: {', '.join(Range.model_fields)})")
    try:
        return Range.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{place}: {first_problem(error)}") from error
