"""Promotion: a generation becomes ``best`` when a sequential test finds it stronger than the previous best.

Without a gate a run offers its newest generation, which may be worse than an older one. With a gate, a candidate plays
rating games against ``best`` until the test accepts or rejects it. Then the newest generation becomes the next
candidate. A newer generation never replaces a candidate during its test, since the test would not end. The games are
ordinary rows of the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np
from pydantic import BaseModel

from selfplay.league.payoffs import sprt_of_payoffs
from selfplay.league.records import START, generation_number
from selfplay.league.sprt import SprtBounds, SprtResult, sprt

if TYPE_CHECKING:
    from selfplay.league.games import Floats, GameTable, Ints

SHARE: Final = 0.5  # share of the rating games that go to a test in progress


class GateState(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """State of the gate: part of a checkpoint, and the content of ``best.json``."""

    format: Literal[1] = 1
    best: str = START
    candidate: str | None = None  # under test
    tried: str = START  # newest generation with a decision
    llr: float | None = None  # log-likelihood ratio of the candidate


@final
@dataclass(slots=True)
class Gate:
    """Chooses candidates and decides on their promotion."""

    bounds: SprtBounds
    state: GateState = field(default_factory=GateState)

    def challenge(self, generations: Sequence[str]) -> tuple[str, str] | None:
        """The next pair (candidate, best) to play; None if none of the generations, oldest first, awaits a decision."""
        candidate = self.state.candidate
        if candidate not in generations:
            newest = generations[-1] if generations else START
            candidate = newest if _age(newest) > _age(self.state.tried) else None
            self.state = self.state.model_copy(update={"candidate": candidate, "llr": None})
        return None if candidate is None else (candidate, self.state.best)

    def decide(self, games: GameTable) -> tuple[str, SprtResult] | None:
        """Update the test with all comparable games; returns the candidate and its test; None without one."""
        candidate = self.state.candidate
        if candidate is None:
            return None
        results, pairs = head_to_head(games, candidate, self.state.best)
        test = (sprt if games.leads is None else sprt_of_payoffs)(results, pairs, self.bounds)
        if test.state == "open":
            self.state = self.state.model_copy(update={"llr": test.llr})
        else:
            best = candidate if test.state == "accepted" else self.state.best
            self.state = GateState(best=best, tried=candidate)
        return candidate, test


def head_to_head(games: GameTable, a: str, b: str) -> tuple[Floats, Ints]:
    """Scores [K] of ``a`` against ``b``, or leads where payoffs count, and the pair label [K] of each game."""
    names = list(games.players)
    if a not in names or b not in names:
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    mine, theirs = names.index(a), names.index(b)
    first = (games.seats[:, 0] == mine) & (games.seats[:, 1] == theirs)
    second = (games.seats[:, 0] == theirs) & (games.seats[:, 1] == mine)
    met = first | second
    if (leads := games.leads) is not None:
        return np.where(first, leads, -leads)[met], games.pairs[met]
    return np.where(first, games.scores, 1.0 - games.scores)[met], games.pairs[met]


def _age(generation: str) -> int:
    return generation_number(generation) or 0
