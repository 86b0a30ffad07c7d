"""Promotion: a generation becomes ``best`` when a sequential test says that it is stronger than the best one so far.

Without a gate the newest generation is what a run offers, and training may have made it worse. With one, a candidate
plays rating games against ``best`` until the test accepts or rejects it; then the newest generation is the next
candidate. A candidate is not given up for a newer one: a test that starts anew with every generation never ends. The
games are rows of the ledger like any other, and deciding early does no harm: that is what the test is for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np
from pydantic import BaseModel, ConfigDict

from selfplay.league.records import START, ResultRule, generation_number, scores
from selfplay.league.sprt import Bounds, Test, sprt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from selfplay.league.games import Floats, Games, Ints

SHARE: Final = 0.5
"""Part of the rating games that a test in progress gets."""


class GateState(BaseModel):
    """Where promotion stands: part of a checkpoint, and the file that says who ``best`` is."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    format: Literal[1] = 1
    best: str = START
    candidate: str | None = None  # being tested
    tried: str = START  # the newest that was decided
    llr: float | None = None  # of the candidate, as of the newest game


@final
class Gate:
    """Who is tested, and what came of it."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.state = GateState()

    def challenge(self, generations: Sequence[str]) -> tuple[str, str] | None:
        """(candidate, best) who should meet; None while nothing is newer than what was decided.

        Args:
            generations: those that are saved, oldest first.
        """
        candidate = self.state.candidate
        if candidate not in generations:
            newest = generations[-1] if generations else START
            candidate = newest if _age(newest) > _age(self.state.tried) else None
            self.state = self.state.model_copy(update={"candidate": candidate, "llr": None})
        return None if candidate is None else (candidate, self.state.best)

    def decide(self, games: Games, rule: ResultRule = "stocks_percent") -> tuple[str, Test] | None:
        """Look at all games so far; the candidate and its test, where a test was under way.

        Args:
            games: those that are comparable (see ``Games.comparable``).
            rule: who wins a game.
        """
        candidate = self.state.candidate
        if candidate is None:
            return None
        points, pairs = head_to_head(games, candidate, self.state.best, rule)
        test = sprt(points, pairs, self.bounds)
        if test.state == "open":
            self.state = self.state.model_copy(update={"llr": test.llr})
        else:
            best = candidate if test.state == "accepted" else self.state.best
            self.state = GateState(best=best, tried=candidate)
        return candidate, test


def head_to_head(games: Games, a: str, b: str, rule: ResultRule = "stocks_percent") -> tuple[Floats, Ints]:
    """Scores of ``a`` in its games against ``b`` [K], and the pair that each belongs to [K]."""
    names = list(games.players)
    if a not in names or b not in names:
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    mine, theirs = names.index(a), names.index(b)
    first = (games.seats[:, 0] == mine) & (games.seats[:, 1] == theirs)
    second = (games.seats[:, 0] == theirs) & (games.seats[:, 1] == mine)
    points = scores(games.stocks, games.percents, rule)
    met = first | second
    return np.where(first, points, 1.0 - points)[met], games.pairs[met]


def _age(generation: str) -> int:
    return generation_number(generation) or 0
