"""Which states of training stay on the disk: a rule made of several, each of which can keep a state."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from selfplay.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class Retention:
    """What keeps a state. One that nothing keeps is removed, once a newer one has been read back and verified.

    Args:
        newest: So many of the newest that verify, at least one.
        every: The first one of every so many iterations, for ever; 0: none.
        best: Those of these iterations.
    """

    newest: int = 2
    every: int = 0
    best: Collection[int] = ()

    def __post_init__(self) -> None:
        if self.newest < 1:
            raise CheckpointError(f"at least one state must be kept, not {self.newest}")

    def kept(self, iterations: Collection[int], verified: Iterable[int]) -> set[int]:
        """Those of ``iterations`` that stay.

        Args:
            iterations: Of all states on the disk.
            verified: Of those that verify, newest first; no more of them are asked for than are needed.
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
