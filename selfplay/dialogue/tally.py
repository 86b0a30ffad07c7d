"""How far the games of an iteration are, for a line every ``EVERY_S`` seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from selfplay.report.plain import duration

EVERY_S: Final = 15.0


@dataclass(slots=True)
class Tally:
    """Counts of the games that one runner plays, which its thread adds to."""

    games: int = 0  # that ended
    replies: int = 0  # of the model that is trained, not of opponents
    tokens: int = 0  # sampled

    def clear(self) -> None:
        self.games = self.replies = self.tokens = 0


def progress_line(iteration: int, tallies: Collection[Tally], games: int, seconds: float, usual: int | None) -> str:
    """How far an iteration of a number of games is after some seconds.

    ``usual`` is the number of replies of the iteration before, by which the remaining time is estimated; without one
    the share of the games that ended is taken, and before the first of them there is no estimate.
    """
    ended, replies, tokens = (sum(getattr(one, name) for one in tallies) for name in ("games", "replies", "tokens"))
    share = replies / usual if usual else ended / games
    eta = f", ETA {duration(seconds * (1 - share) / share)}" if 0 < share < 1 else ""
    return (
        f"Iter {iteration}: {ended:,} of {games:,} games, {replies:,} replies, {tokens / max(seconds, 1e-9):,.0f} "
        f"tokens/s{eta}"
    )


async def tell_progress(
    tell: Callable[[str], object], iteration: int, tallies: Collection[Tally], games: int, usual: int | None
) -> None:
    """Tell a line again and again, until cancelled."""
    began = time.monotonic()
    while True:
        await asyncio.sleep(EVERY_S)
        tell(progress_line(iteration, tallies, games, time.monotonic() - began, usual))
