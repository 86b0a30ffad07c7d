"""Games of people, and the figures of games with intervals, as ``selfplay behaviour`` makes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from scripts.studies.play_style.statistics import FIGURES, SHARES, statistics
from selfplay_melee.commands.behaviour import rate, resampled, totals
from selfplay_melee.replay import read_replay

if TYPE_CHECKING:
    from pathlib import Path

DRAWS: Final = 1000  # of games, for an interval
SEED: Final = 25


def people(paths: Sequence[Path]) -> Iterator[NDArray[np.void]]:
    """STYLE [2] of each game of two people in which a stock was lost."""
    for path in paths:
        replay = read_replay(path)
        made = statistics(replay.state, replay.end)
        if all(seat.human for seat in replay.seats) and made["stocks_lost"].sum() > 0:
            yield made


def column(title: str, games: Sequence[NDArray[np.void]]) -> dict[str, Any]:
    """Figures of some games, STYLE [2] each, with 95% intervals from drawing games."""
    parts = totals(games)
    drawn = resampled(len(games), np.random.default_rng(SEED), DRAWS)
    figures = {name: asdict(rate(parts[count] * (100.0 if count in SHARES else 1.0), parts[of], drawn))
               for name, count, of in FIGURES}  # fmt: skip
    return {"title": title, "games": len(games), "minutes": float(parts["minutes"].sum()) / 2.0, "figures": figures}
