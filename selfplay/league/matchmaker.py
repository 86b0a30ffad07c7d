"""Whom the learner meets in training: draws opponents in the proportions of a mode.

A mode is a set of shares over categories; a category says who is eligible, and how likely each of them is. Shares of
categories that are empty (no generation saved yet, no scripted player allowed) go to the others in proportion. A new
mode is a line in ``MODES``, and where needed one in ``CATEGORIES``.

- ``simple_mix``: the current policy, recent and old generations, scripted players.
- ``latest``: the current policy alone.
- ``delta_uniform``: any generation of the newer half alike (Bansal et al. 2018, delta = 0.5).
- ``quality``: four fifths the current policy, one fifth generations by their quality (OpenAI Five).
- ``pfsp``: the current policy, and generations that it finds hard (AlphaStar's prioritized fictitious self-play).
- ``pfsp_variance``: the same with those of its own strength.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, final

import numpy as np
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from selfplay.errors import LeagueError
from selfplay.league.records import generation_number, ladder_key
from selfplay.league.results import Results, ResultsState, tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from selfplay.league.games import Floats

Kind = Literal["current", "generation", "scripted"]
CURRENT: Final = "current"


@final
@dataclass(frozen=True, slots=True)
class Opponent:
    """Who sits opposite the learner for one episode; ``category`` says why."""

    kind: Kind
    id: str
    category: str


class Place(NamedTuple):
    """A place on the bench: a generation, and the category whose draws may give it."""

    id: str
    category: str


@final
@dataclass(frozen=True, slots=True)
class Pool:
    """Who there is: generations from old to new, and scripted players."""

    generations: tuple[str, ...]
    scripted: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Category:
    """A kind of opponent, the players of the pool who are eligible, and their chances; None: all alike likely."""

    kind: Kind
    eligible: Callable[[Pool], Sequence[str]]
    chances: Callable[[Results, Sequence[str]], Floats] | None = None


def newer_half(pool: Pool) -> Sequence[str]:
    """The newer half of the generations, the middle one included."""
    return pool.generations[len(pool.generations) // 2 :]


CATEGORIES: Final[Mapping[str, Category]] = {
    "current": Category("current", lambda pool: (CURRENT,)),
    "recent": Category("generation", newer_half),
    "scripted": Category("scripted", lambda pool: pool.scripted),
    "any_past": Category("generation", lambda pool: pool.generations),
    "quality": Category("generation", lambda pool: pool.generations, Results.by_quality),
    "hard": Category("generation", lambda pool: pool.generations, Results.by_difficulty),
    "even": Category("generation", lambda pool: pool.generations, Results.by_variance),
}
MODES: Final[Mapping[str, Mapping[str, float]]] = {
    "simple_mix": {"current": 0.4, "recent": 0.3, "scripted": 0.2, "any_past": 0.1},
    "latest": {"current": 1.0},
    "delta_uniform": {"recent": 0.8, "scripted": 0.2},
    "quality": {"current": 0.64, "quality": 0.16, "scripted": 0.2},
    "pfsp": {"current": 0.3, "hard": 0.5, "scripted": 0.2},
    "pfsp_variance": {"current": 0.3, "even": 0.5, "scripted": 0.2},
}


class MatchmakerState(BaseModel):
    """All that the next draws depend on, as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    generations: tuple[str, ...]
    bench: tuple[Place, ...]
    met: dict[str, dict[str, int]]
    rng: dict[str, str | int | dict[str, int]]
    results: ResultsState = ResultsState()


@final
class Matchmaker:
    """Draws opponents; the generations among them come from a small bench that ``rotate`` changes.

    Args:
        mode: a name in ``MODES``.
        rng: all draws come from it.
        scripted: scripted players that training may meet.
        weights: shares of the mode's categories, instead of its own. They need not sum to one; those not named are 0,
            those of other modes are ignored.
        max_frozen: generations on the bench at a time: each costs a forward pass of its own.

    Raises:
        LeagueError: an unknown mode or category, or weights or a bench that cannot be.
    """

    def __init__(
        self,
        mode: str,
        rng: np.random.Generator,
        scripted: Iterable[str] = (),
        weights: Mapping[str, float] | None = None,
        max_frozen: int = 4,
    ) -> None:
        if mode not in MODES:
            raise LeagueError(f"unknown mode {mode!r} (valid: {', '.join(MODES)})")
        if max_frozen < 1:
            raise LeagueError(f"the bench needs at least one place, not {max_frozen}")
        self._weights = _checked(MODES[mode] if weights is None else weights, MODES[mode])
        self._rng = rng
        self._max_frozen = max_frozen
        self._pool = Pool((), tuple(sorted(scripted)))
        self._bench: tuple[Place, ...] = ()  # those that came first stand first
        self._met: dict[str, Counter[str]] = {"category": Counter(), "id": Counter()}
        self._results = Results()

    @property
    def bench(self) -> tuple[str, ...]:
        """The generations that draws can give now, without repeats."""
        return tuple(sorted({place.id for place in self._bench}, key=ladder_key))

    def set_generations(self, ids: Iterable[str]) -> None:
        """Say which generations are saved. The bench stays until ``rotate``, but for those that are gone."""
        names = tuple(sorted(set(ids), key=ladder_key))
        if strangers := [name for name in names if generation_number(name) is None]:
            raise LeagueError(f"not generations: {', '.join(strangers)}")
        self._pool = Pool(names, self._pool.scripted)
        self._bench = tuple(place for place in self._bench if place.id in set(names))
        self._results.admit(names)

    def record(self, scores: Mapping[str, Sequence[float]]) -> None:
        """Take in what the learner scored in the games that ended, by opponent; mirror games are none of them."""
        tally(scores, self._results, self._pool.generations)

    def rotate(self, in_play: Iterable[str] = ()) -> None:
        """Change the bench.

        Places are shared among the categories of generations by their weights. Whoever is not in play gives its place
        to somebody drawn anew. If all are in play, the one that is there longest leaves, and counts against
        ``max_frozen`` until its episodes have ended; so nobody stays for ever, and few are in play at a time.

        Args:
            in_play: opponents that episodes which have not ended still need; only generations matter.
        """
        busy = {name for name in in_play if generation_number(name) is not None}
        staying = [place for place in self._bench if place.id in busy]
        nobody_leaves = busy == {place.id for place in staying}
        if len(staying) >= self._max_frozen and nobody_leaves:
            gone = next((place.id for place in staying if self._others(place, busy)), None)
            staying = [place for place in staying if place.id != gone]
        leaving = busy - {place.id for place in staying}
        room = max(1, self._max_frozen - len(leaving))
        for name, places in self._places(room).items():
            held = sum(place.category == name for place in staying)
            free = min(places - held, room - len(staying))
            known = leaving | {place.id for place in staying if place.category == name}
            names = [id for id in CATEGORIES[name].eligible(self._pool) if id not in known]
            staying += [Place(id, name) for id in self._sample(name, names, free)]
        self._bench = tuple(staying)

    def draw(self, count: int) -> list[Opponent]:
        """Opponents for ``count`` games about to start. With nobody else eligible it is the current policy."""
        choices = {name: self._candidates(name) for name in self._weights}
        names = [name for name, members in choices.items() if members] or [CURRENT]
        shares = np.array([self._weights.get(name, 1.0) for name in names])
        drawn = self._rng.choice(len(names), size=count, p=shares / shares.sum())
        opponents = []
        for name in (names[index] for index in drawn):
            members = choices.get(name) or (CURRENT,)
            opponents.append(Opponent(CATEGORIES[name].kind, members[int(self._rng.integers(len(members)))], name))
        self._met["category"].update(opponent.category for opponent in opponents)
        self._met["id"].update(opponent.id for opponent in opponents)
        return opponents

    def histogram(self) -> dict[str, dict[str, int]]:
        """How often each ``category`` and each ``id`` was drawn, since the start of the run."""
        return {key: dict(sorted(counter.items())) for key, counter in self._met.items()}

    def state(self) -> dict[str, JsonValue]:
        """What ``restore`` needs to go on with the same draws, as JSON types."""
        state = MatchmakerState.model_validate(
            {
                "generations": self._pool.generations,
                "bench": self._bench,
                "met": self.histogram(),
                "rng": self._rng.bit_generator.state,
                "results": self._results.state(),
            }
        )
        return state.model_dump(mode="json")

    def restore(self, state: Mapping[str, object]) -> None:
        """Go on where ``state`` was taken; mode, weights and scripted players are those of this object.

        Raises:
            LeagueError: not a state, or one of another kind of generator.
        """
        try:
            saved = MatchmakerState.model_validate(state)
            self._rng.bit_generator.state = saved.rng
        except (ValidationError, ValueError, KeyError, TypeError) as error:
            raise LeagueError(f"not a matchmaker's state: {error}") from error
        self._pool = Pool(saved.generations, self._pool.scripted)
        self._bench = tuple(place for place in saved.bench if place.category in self._weights)
        self._met = {key: Counter(saved.met.get(key, {})) for key in ("category", "id")}
        self._results = Results(saved.results)

    def _candidates(self, name: str) -> Sequence[str]:
        category = CATEGORIES[name]
        if category.kind == "generation":
            own = tuple(place.id for place in self._bench if place.category == name)
            return own or self.bench  # a category without a place shares those of the others
        return category.eligible(self._pool)

    def _others(self, place: Place, busy: set[str]) -> bool:
        """Whether somebody else could take a place."""
        return any(name not in busy for name in CATEGORIES[place.category].eligible(self._pool))

    def _places(self, left: int) -> dict[str, int]:
        """Places by category: in proportion to the weights, at least one each as far as they go, most first."""
        names = [name for name in self._weights if CATEGORIES[name].kind == "generation"]
        names.sort(key=lambda name: -self._weights[name])
        places, weight = {}, sum(self._weights[name] for name in names)
        for index, name in enumerate(names):
            share = round(left * self._weights[name] / weight)
            places[name] = min(left, max(1, min(share, left - (len(names) - index - 1))))
            left, weight = left - places[name], weight - self._weights[name]
        return places

    def _sample(self, category: str, names: Sequence[str], count: int) -> list[str]:
        """Up to ``count`` different ones by the chances of the category, in the order of ``names``."""
        if not names or count < 1:
            return []
        chances = CATEGORIES[category].chances
        p = None if chances is None else chances(self._results, names)
        possible = len(names) if p is None else int((p > 0.0).sum())
        chosen = self._rng.choice(len(names), size=min(count, possible), replace=False, p=p)
        return [names[int(index)] for index in sorted(chosen)]


def _checked(weights: Mapping[str, float], categories: Iterable[str]) -> dict[str, float]:
    """The weights of ``categories`` that are above zero, in that order."""
    for name, weight in weights.items():
        if name not in CATEGORIES:
            raise LeagueError(f"unknown category of opponents {name!r} (valid: {', '.join(CATEGORIES)})")
        if not math.isfinite(weight) or weight < 0.0:
            raise LeagueError(f"the weight of {name!r} is {weight}; it must be a number from 0 up")
    positive = {name: float(weights[name]) for name in categories if weights.get(name, 0.0) > 0.0}
    if not positive:
        raise LeagueError(f"all weights are zero; give at least one of {', '.join(categories)} a share")
    return positive
