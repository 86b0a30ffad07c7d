"""Players of one kind: their games, and the figures of these with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.lib.recfunctions import structured_to_unstructured
from numpy.typing import NDArray

from envs.melee.replay import read_replay
from scripts.studies.play_style.statistics import FIGURES, SHARES, STYLE, statistics
from selfplay.imitation.recording import blocks, pairings_of, recorded

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.runner.match import Contender, Rules

DRAWS: Final = 1000  # of games, for an interval
SEED: Final = 25


def people(paths: Sequence[Path]) -> Iterator[NDArray[np.void]]:
    """STYLE [2] of each game of two people in which a stock was lost."""
    for path in paths:
        replay = read_replay(path)
        made = statistics(replay.state, replay.end)
        if all(seat.human for seat in replay.seats) and made["stocks_lost"].sum() > 0:
            yield made


def mock_games(player: Contender, games: int, character: str, rules: Rules, seed: int) -> Iterator[NDArray[np.void]]:
    """STYLE [2] of games of a player against itself. Blocks."""
    for block in blocks(pairings_of([player.id], [], games, (character, character), seed), rules):
        for replay in recorded(block, {player.id: player}, rules):
            yield statistics(replay.state, replay.end)


def column(title: str, games: Sequence[NDArray[np.void]]) -> dict[str, Any]:
    """Figures of some games, STYLE [2] each, with 95% intervals from drawing games."""
    sums = np.array([structured_to_unstructured(game).sum(0) for game in games])
    parts = dict(zip(STYLE.names or (), sums.T, strict=True))
    drawn = np.random.default_rng(SEED).multinomial(len(games), np.full(len(games), 1.0 / len(games)), DRAWS)
    figures = {name: _figure(parts[count] * (100.0 if count in SHARES else 1.0), parts[of], drawn)
               for name, count, of in FIGURES}  # fmt: skip
    return {"title": title, "games": len(games), "minutes": float(parts["minutes"].sum()) / 2.0, "figures": figures}


def _figure(
    count: NDArray[np.float64], whole: NDArray[np.float64], drawn: NDArray[np.int64]
) -> dict[str, float | None]:
    if not whole.sum() > 0.0:
        return {"value": None, "low": None, "high": None}
    wholes = drawn @ whole
    low, high = np.quantile((drawn @ count)[wholes > 0.0] / wholes[wholes > 0.0], (0.025, 0.975))
    return {"value": float(count.sum() / whole.sum()), "low": float(low), "high": float(high)}
