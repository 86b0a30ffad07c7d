"""The parts of the study of growth, by what there is more of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from selfplay.errors import ConfigError
from selfplay.trainer.growth import games, generations, ledger, players
from selfplay.trainer.growth.series import Series

Measure = Callable[[Sequence[int], Callable[[str], None]], list[Series]]


@final
@dataclass(frozen=True, slots=True)
class Part:
    """What is measured, at which sizes, and at which to see that it works."""

    measure: Measure
    sizes: Sequence[int]
    quick: Sequence[int]


PARTS: Final[Mapping[str, Part]] = {
    "games": Part(games.measure_games, games.SIZES, (1, 2, 4)),
    "players": Part(players.measure_players, players.SIZES, (2, 4, 8)),
    "generations": Part(generations.measure_generations, generations.SIZES, (4, 8, 16)),
    "ledger": Part(ledger.measure_ledger, ledger.SIZES, (100, 200, 400)),
}


def chosen(names: str | None) -> dict[str, Part]:
    """Those named in a list with commas; None: all of them.

    Raises:
        ConfigError: an unknown name.
    """
    wanted = list(PARTS) if names is None else names.split(",")
    for name in wanted:
        if name not in PARTS:
            raise ConfigError(f"--only {name}: unknown (valid: {', '.join(PARTS)})")
    return {name: PARTS[name] for name in wanted}


def measured(parts: Mapping[str, Part], *, quick: bool, say: Callable[[str], None]) -> list[Series]:
    """Every series of these parts; ``say`` is told how far it is."""
    return [one for part in parts.values() for one in part.measure(part.quick if quick else part.sizes, say)]
