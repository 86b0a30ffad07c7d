"""The parts of the study of growth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from scripts.studies.command_line import chosen
from scripts.studies.growth import games, generations, ledger, players
from scripts.studies.growth.series import Series

Measure = Callable[[Sequence[int], Callable[[str], None]], list[Series]]


@final
@dataclass(frozen=True, slots=True)
class Part:
    """A measurement, its sizes, and small sizes that show that it works."""

    measure: Measure
    sizes: Sequence[int]
    quick: Sequence[int]


PARTS: Final[Mapping[str, Part]] = {
    "games": Part(games.measure_games, games.SIZES, (1, 2, 4)),
    "players": Part(players.measure_players, players.SIZES, (2, 4, 8)),
    "generations": Part(generations.measure_generations, generations.SIZES, (4, 8, 16)),
    "ledger": Part(ledger.measure_ledger, ledger.SIZES, (100, 200, 400)),
}


def choose(names: str | None) -> dict[str, Part]:
    """The parts in a list with commas; None: all parts.

    Raises:
        ConfigError: an unknown name.
    """
    return {name: PARTS[name] for name in chosen("--only", names or PARTS, PARTS)}


def measured(parts: Mapping[str, Part], *, quick: bool, tell: Callable[[str], None]) -> list[Series]:
    """Every series of these parts; ``tell`` prints progress."""
    return [one for part in parts.values() for one in part.measure(part.quick if quick else part.sizes, tell)]
