"""Which settings are trained next, and for how long. It follows from the strength of those before alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from selfplay.sweep.optuna_search import propose
from selfplay.sweep.settings import Halving, OptunaSearch

if TYPE_CHECKING:
    from selfplay.sweep.plan import Plan
    from selfplay.sweep.space import Values


@dataclass(frozen=True, slots=True)
class Round:
    """Settings that are trained side by side, each for a share of the full length."""

    settings: tuple[Values, ...]
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class JudgedRound:
    """A round that has ended, with the strength of each setting; None: a cell of it failed."""

    round: Round
    strengths: tuple[float | None, ...]


def next_round(plan: Plan, done: Sequence[JudgedRound], known: Sequence[Values]) -> Round | None:
    """The round after those that are done; None at the end.

    ``known`` are the settings that were begun before, from which a search that was ended goes on.
    """
    match plan.asked.method:
        case Halving() as method:
            return _rung(method, plan.first, done)
        case OptunaSearch() as method:
            told = [pair for judged in done for pair in zip(judged.round.settings, judged.strengths, strict=True)]
            count = min(method.batch, method.samples - len(told))
            begun = known[len(told) : len(told) + count]
            found = begun or (propose(plan.space, method.seed, told, count) if count > 0 else [])
            return Round(tuple(found)) if found else None
        case _:
            return None if done else Round(plan.first)


def _rung(method: Halving, first: tuple[Values, ...], done: Sequence[JudgedRound]) -> Round | None:
    if len(done) == method.rungs:
        return None
    share = method.reduction ** float(len(done) + 1 - method.rungs)
    if not done:
        return Round(first, share)
    last = done[-1]
    ranked = ranking(last.round.settings, last.strengths)
    best = ranked[: max(2, math.ceil(len(last.round.settings) / method.reduction))]  # one alone compares with none
    return Round(tuple(best), share) if best else None


def ranking(settings: Sequence[Mapping[str, object]], strengths: Sequence[float | None]) -> list[Values]:
    """Those without a failed cell, the strongest first."""
    order = sorted((-strength, i) for i, strength in enumerate(strengths) if strength is not None)
    return [dict(settings[i]) for _, i in order]  # type: ignore[arg-type]
