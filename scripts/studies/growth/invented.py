"""Random rating games as real records: later generations are stronger, and winners are drawn accordingly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from selfplay.league.ratings import ELO
from selfplay.league.records import ANCHOR, MatchRecord, MatchSeat, generation_id, generation_number, settings_hash

SETTINGS: Final = settings_hash({"invented": True})
GROUP: Final = f"{SETTINGS}/stochastic"
_STRONGEST: Final = 600.0  # Elo over the anchor
_STOCKS: Final = 4


def ladder(size: int) -> list[str]:
    """The anchor and ``size - 1`` generations, ten iterations apart."""
    return [ANCHOR, *(generation_id(10 * i) for i in range(size - 1))]


def strength(player: str) -> float:
    """Elo over the anchor, which grows ever more slowly."""
    number = generation_number(player)
    return 0.0 if number is None else _STRONGEST * (1.0 - math.exp(-number / 1000.0))


def fixture(a: str, b: str, seed: int, rng: np.random.Generator) -> Iterator[MatchRecord]:
    """Two games on one seed, seats swapped."""
    chance = 1.0 / (1.0 + math.exp((strength(b) - strength(a)) / ELO))
    for first, second, share in ((a, b, chance), (b, a, 1.0 - chance)):
        won, left = bool(rng.random() < share), int(rng.integers(1, _STOCKS + 1))
        percents = rng.integers(0, 150, 2).tolist()
        yield MatchRecord.played(
            seats=(_seat(first), _seat(second)),
            seed=seed,
            settings=SETTINGS,
            stage="battlefield",
            stocks=(left, 0) if won else (0, left),
            percents=tuple(map(float, percents)),
            damage=tuple(map(float, percents[::-1])),
            self_destructs=(0, 0),
            frames=int(rng.integers(1000, 28800)),
            ended="stocks",
            sampling="stochastic",
            iteration=max(generation_number(first) or 0, generation_number(second) or 0),
            wall=1.7e9,
        )


def games(players: Sequence[str], count: int, rng: np.random.Generator, start: int = 0) -> Iterator[MatchRecord]:
    """``count`` games of pairs drawn among ``players``; ``start`` keeps their seeds apart from those of other calls."""
    for number in range(count // 2):
        a, b = rng.choice(len(players), 2, replace=False).tolist()
        yield from fixture(players[a], players[b], start + number, rng)


def _seat(player: str) -> MatchSeat:
    return MatchSeat(player=player, version=f"weights-of-{player}", character="fox", frame_skip=4, delay=0)
