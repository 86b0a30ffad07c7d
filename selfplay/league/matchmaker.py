"""Draws the opponents of a learner in training by the weights of a mode, see ``modes``.

The weight of an empty category (no saved generation, no scripted player) is shared by the others in proportion.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, final

import numpy as np
from pydantic import BaseModel, JsonValue, ValidationError

from selfplay.errors import LeagueError, describe
from selfplay.league.modes import (
    CATEGORIES,
    CURRENT,
    EXPLOITERS,
    EXTERNAL,
    MAIN,
    MODES,
    OUTSIDER,
    Kind,
    Opponent,
    OpponentPool,
)
from selfplay.league.records import generation_number, ladder_key
from selfplay.league.results import Results, ResultsState

IN_PLAY: Final = 2
"""Frozen policies on the bench or in play, as a multiple of the places on the bench."""

CHOSEN: Final = "chosen"
"""Category of opponents that ``Choose`` chose."""


class Candidate(NamedTuple):
    """A possible opponent, and what is known of it."""

    id: str  # ``current`` is the learner itself
    kind: Kind
    score: float  # the learner's mean score against it, see ``Results.score``
    games: float  # discounted number of games


Choose = Callable[[Sequence[Candidate], int, np.random.Generator], Sequence[Candidate]]
"""Chooses the opponents of so many new games, each any number of times; all randomness comes from the generator."""


class BenchPlace(NamedTuple):
    """A frozen policy on the bench, and the category for which it was drawn."""

    id: str
    category: str


class MatchmakerState(BaseModel, frozen=True, extra="forbid"):
    """The state of a ``Matchmaker``, as JSON."""

    generations: tuple[str, ...]
    exploiters: tuple[str, ...]
    external_opponents: tuple[str, ...]
    bench: tuple[BenchPlace, ...]
    met: dict[str, dict[str, int]]
    rng: dict[str, str | int | dict[str, int]]
    results: ResultsState


@final
class Matchmaker:
    """Draws the opponents of new episodes.

    Frozen policies come from a bench of ``max_frozen`` places, since each policy in play costs memory and time. Places
    are drawn by the probabilities of their category, so that the shares of *episodes* are those of the mode; a policy
    may hold several places. ``rotate`` redraws the oldest places, whatever policies they hold.

    ``mode`` is a name in ``MODES``, or the role of an exploiter. ``weights`` of the mode's categories replace its own:
    they need not sum to one, missing ones are 0, and categories of other modes are ignored. ``outsiders`` are players
    of the other seat in every game, whose category the weights must name.
    """

    def __init__(
        self,
        mode: str,
        rng: np.random.Generator,
        scripted: Iterable[str] = (),
        weights: Mapping[str, float] | None = None,
        max_frozen: int = 16,
        outsiders: Iterable[str] = (),
    ) -> None:
        shares = {**MODES, **EXPLOITERS}.get(mode)
        if shares is None:
            raise LeagueError(f"unknown mode {mode!r} (valid: {', '.join(MODES)})")
        if max_frozen < 1:
            raise LeagueError(f"max_frozen must be at least 1, not {max_frozen}")
        self._weights = _checked(shares if weights is None else weights, (*shares, EXTERNAL, OUTSIDER))
        self._rng = rng
        self._max_frozen = max_frozen
        self._pool = OpponentPool(scripted=tuple(sorted(scripted)), outsiders=tuple(outsiders))
        self._bench: tuple[BenchPlace, ...] = ()  # oldest entry first
        self._chosen: list[Candidate] | None = None  # for the next draws; None: ``Choose`` was not asked
        self._met: dict[str, Counter[str]] = {"category": Counter(), "id": Counter()}
        self.results = Results()  # the learner's scores by opponent

    @property
    def bench(self) -> tuple[str, ...]:
        """The frozen policies on the bench, without repeats."""
        return tuple(sorted({place.id for place in self._bench}, key=ladder_key))

    def set_pool(
        self, generations: Iterable[str], exploiters: Iterable[str] = (), external_opponents: Iterable[str] = ()
    ) -> None:
        """Set the available frozen policies.

        Policies that are gone leave the bench, and their results are forgotten. New ones join it at ``rotate``.
        """
        names = tuple(sorted(set(generations), key=ladder_key))
        if strangers := [name for name in names if generation_number(name) is None]:
            raise LeagueError(f"not generations: {', '.join(strangers)}")
        self._pool = replace(
            self._pool, generations=names, exploiters=tuple(exploiters), external_opponents=tuple(external_opponents)
        )
        self._bench = tuple(place for place in self._bench if place.id in self._pool.frozen)
        known = {CURRENT, MAIN, *self._pool.scripted, *self._pool.outsiders, *self._pool.frozen}
        self.results.keep(known)
        self._met["id"] = Counter({name: count for name, count in self._met["id"].items() if name in known})
        self.results.admit(names)

    def record(self, results: Mapping[str, Sequence[float]], *, leads: bool = False) -> None:
        """Add the learner's scores in finished games, or its leads, by opponent, without mirror games."""
        self.results.tally(results, self._pool.generations, leads=leads)

    def forget(self) -> None:
        """Forget all results, because another policy starts to learn."""
        self.results = Results()
        self.results.admit(self._pool.generations)

    def ask(self, choose: Choose, count: int) -> None:
        """Let a function choose the opponents of the next ``count`` games, in place of mode and weights. Blocks.

        LeagueError for another number of them, strangers, or more than ``max_frozen`` frozen policies.
        """
        names: list[tuple[str, Kind]] = [(CURRENT, "current")]
        names += [(name, "scripted") for name in self._pool.scripted]
        names += [(name, "generation") for name in self._pool.frozen]
        results = self.results
        everyone = [Candidate(name, kind, results.score(name), results.games(name)) for name, kind in names]
        chosen = list(choose(everyone, count, self._rng))
        frozen = sorted({each.id for each in chosen if each in everyone and each.kind == "generation"})
        if len(chosen) != count or not all(each in everyone for each in chosen) or len(frozen) > self._max_frozen:
            raise LeagueError(
                f"the choice of opponents must give {count} of the candidates, of the frozen policies at most "
                f"{self._max_frozen} different ones (league.max_frozen)"
            )
        self._bench, self._chosen = tuple(BenchPlace(name, CHOSEN) for name in frozen), chosen

    def rotate(self, in_play: Iterable[str] = ()) -> None:
        """Redraw the oldest places of the bench with the current probabilities.

        A policy that leaves the bench stays in play until its last episode ends. As many places are redrawn as keep
        the policies on the bench and in play at ``IN_PLAY * max_frozen`` or less. That number is known before the draw:
        if it depended on the policies drawn, their shares would be biased. ``in_play`` are opponents of unfinished
        episodes, of which only frozen ones matter.
        """
        if self._chosen is not None:
            return
        busy = set(in_play) - {CURRENT, MAIN, *self._pool.scripted, *self._pool.outsiders}
        redrawn = max(0, IN_PLAY * self._max_frozen - len(busy | {place.id for place in self._bench}))
        free, staying = self._quotas(), []
        for place in reversed(self._bench[redrawn:]):  # where a quota has shrunk, the newest places stay
            if free.get(place.category, 0):
                free[place.category] -= 1
                staying.append(place)
        drawn = [place for name, places in free.items() for place in self._new_places(name, places)]
        self._bench = (*reversed(staying), *drawn)

    def draw(self, count: int) -> list[Opponent]:
        """Draw opponents for ``count`` new games; the current policy if no other player is eligible."""
        if self._chosen is None:
            opponents = self._drawn(count)
        else:
            opponents = [Opponent(each.kind, each.id, CHOSEN) for each in self._chosen[:count]]
            del self._chosen[:count]
        self._met["category"].update(opponent.category for opponent in opponents)
        self._met["id"].update(opponent.id for opponent in opponents)
        return opponents

    def _drawn(self, count: int) -> list[Opponent]:
        choices = {name: self._candidates(name) for name in self._weights}
        names = [name for name, members in choices.items() if members] or [CURRENT]
        shares = np.array([self._weights.get(name, 1.0) for name in names])
        drawn = self._rng.choice(len(names), size=count, p=shares / shares.sum())
        opponents = []
        for name in (names[index] for index in drawn):
            members = choices.get(name) or (CURRENT,)
            opponents.append(Opponent(CATEGORIES[name].kind, members[int(self._rng.integers(len(members)))], name))
        return opponents

    def histogram(self) -> dict[str, dict[str, int]]:
        """Number of draws of each ``category`` and each available ``id`` since the start of the run."""
        return {key: dict(sorted(counter.items())) for key, counter in self._met.items()}

    def state(self) -> dict[str, JsonValue]:
        """The state for ``restore``, as JSON types."""
        state = MatchmakerState.model_validate(
            {
                "generations": self._pool.generations,
                "exploiters": self._pool.exploiters,
                "external_opponents": self._pool.external_opponents,
                "bench": self._bench,
                "met": self.histogram(),
                "rng": self._rng.bit_generator.state,
                "results": self.results.state(),
            }
        )
        return state.model_dump(mode="json")

    def restore(self, state: Mapping[str, object]) -> None:
        """Restore a state. Mode, weights and scripted players are those of this object."""
        try:
            saved = MatchmakerState.model_validate(state)
            self._rng.bit_generator.state = saved.rng
        except (ValidationError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise LeagueError(f"not a matchmaker's state: {describe(error)}") from error
        self._pool = replace(
            self._pool,
            generations=saved.generations,
            exploiters=saved.exploiters,
            external_opponents=saved.external_opponents,
        )
        self._bench = tuple(place for place in saved.bench if place.category in self._weights)
        self._met = {key: Counter(saved.met.get(key, {})) for key in ("category", "id")}
        self.results = Results(saved.results)

    def _candidates(self, name: str) -> Sequence[str]:
        category = CATEGORIES[name]
        eligible = category.eligible(self._pool, self.results)
        if category.kind == "generation" and eligible:
            own = tuple(place.id for place in self._bench if place.category == name)
            return own or self.bench  # a category without places uses the whole bench
        return eligible

    def _new_places(self, name: str, count: int) -> list[BenchPlace]:
        """Draw policies of a category. Systematic sampling keeps their numbers within one of the expected ones."""
        category = CATEGORIES[name]
        names = category.eligible(self._pool, self.results)
        chances = (
            np.ones(len(names)) / len(names) if category.chances is None else category.chances(self.results, names)
        )
        points = (np.arange(count) + self._rng.random()) / max(count, 1)
        drawn = np.searchsorted(np.cumsum(chances)[:-1], points, side="right")
        return [BenchPlace(names[int(index)], name) for index in self._rng.permutation(drawn)]

    def _quotas(self) -> dict[str, int]:
        """Places by category with eligible frozen policies: by weight, and at least one each while any are left."""
        names = [
            name
            for name in sorted(self._weights, key=lambda name: -self._weights[name])
            if CATEGORIES[name].kind == "generation" and CATEGORIES[name].eligible(self._pool, self.results)
        ]
        left, weight, quotas = self._max_frozen, sum(self._weights[name] for name in names), {}
        for index, name in enumerate(names):
            share = round(left * self._weights[name] / weight)
            quotas[name] = min(left, max(1, min(share, left - (len(names) - index - 1))))
            left, weight = left - quotas[name], weight - self._weights[name]
        return quotas


def _checked(weights: Mapping[str, float], categories: Iterable[str]) -> dict[str, float]:
    """The weights of ``categories`` that are above zero, in that order."""
    for name, weight in weights.items():
        if name not in CATEGORIES:
            raise LeagueError(f"unknown category of opponents {name!r} (valid: {', '.join(CATEGORIES)})")
        if not math.isfinite(weight) or weight < 0.0:
            raise LeagueError(f"the weight of {name!r} is {weight}; valid: a number of at least 0")
    positive = {name: float(weights[name]) for name in categories if weights.get(name, 0.0) > 0.0}
    if not positive:
        raise LeagueError(f"all weights are zero; at least one of {', '.join(categories)} must be positive")
    return positive
