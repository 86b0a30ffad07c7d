"""Which states of training are kept on disk."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from selfplay.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class Retention:
    """A state is kept if any of these rules applies.

    Args:
        newest: number of newest valid states, at least one.
        every: keep the first state in every block of so many iterations; 0: off.
        best: iterations to keep.
    """

    newest: int = 2
    every: int = 0
    best: Collection[int] = ()

    def __post_init__(self) -> None:
        if self.newest < 1:
            raise CheckpointError(f"at least one state must be kept, not {self.newest}")

    def kept(self, iterations: Collection[int], verified: Iterable[int]) -> set[int]:
        """The iterations to keep.

        Args:
            iterations: all states on disk.
            verified: valid states, newest first; evaluated lazily.
        """
        good = list(islice(verified, self.newest))
        if len(good) < self.newest:
            return set(iterations)
        kept = {number for number in iterations if number >= good[-1] or number in self.best}
        if self.every:
            first: dict[int, int] = {}
            for number in sorted(iterations):
                first.setdefault(number // self.every, number)
            kept |= set(first.values())
        return kept


LAST_TWO: Final = Retention()
