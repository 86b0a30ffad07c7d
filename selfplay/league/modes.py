"""Who may be met in training, and in which shares: the vocabulary of ``--mode``.

A mode is a set of shares over categories; a category says who is eligible, and how likely each of them is. A new mode
is a line in ``MODES``, and where needed one in ``CATEGORIES``.

- ``simple_mix``: the current policy, recent and old generations, scripted players.
- ``latest``: the current policy alone.
- ``delta_uniform``: any generation of the newer half alike (Bansal et al. 2018, delta = 0.5).
- ``quality``: four fifths the current policy, one fifth generations by their quality (OpenAI Five).
- ``pfsp``: the current policy, and generations that it finds hard (AlphaStar's prioritized fictitious self-play).
- ``pfsp_variance``: the same with those of its own strength.
- ``league``: pfsp among all generations and frozen exploiters, while two more learners look for weaknesses: the main
  exploiter in the main agent, the league exploiter in everybody (AlphaStar, Vinyals et al. 2019).
- ``opponents``: the policies of ``--opponent`` alone, as an exploiter of theirs trains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

from selfplay.league.results import Results

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from selfplay.league.games import Floats

Kind = Literal["current", "main", "generation", "scripted", "outsider"]
CURRENT: Final = "current"
"""The learner itself: both seats play, and train, its newest weights."""
MAIN: Final = "main"
"""The main agent of a league as it is now, seen from an exploiter; also the name of its role."""
OUTSIDER: Final = "outsider"
"""The category that no mode has: where games have somebody in the other seat, there is nothing to choose."""
FORGOTTEN: Final = 0.3
"""Score below which the learner no longer beats somebody of the past."""
HOPELESS: Final = 0.2
"""Score against the main agent below which an exploiter takes lessons with its past."""


@final
@dataclass(frozen=True, slots=True)
class Opponent:
    """Who sits opposite the learner for one episode; ``category`` says why.

    A generation is any frozen policy, an outsider somebody whom we do not move: a person, or the game's own player.
    """

    kind: Kind
    id: str
    category: str


@final
@dataclass(frozen=True, slots=True)
class Pool:
    """Who there is, each from old to new.

    ``generations`` are those of the run's main agent, ``exploiters`` frozen ones of its league, ``guests`` policies of
    other runs, ``outsiders`` those who have a seat in every game.
    """

    generations: tuple[str, ...] = ()
    scripted: tuple[str, ...] = ()
    exploiters: tuple[str, ...] = ()
    guests: tuple[str, ...] = ()
    outsiders: tuple[str, ...] = ()

    @property
    def frozen(self) -> tuple[str, ...]:
        """All whose weights do not change."""
        return (*self.generations, *self.exploiters, *self.guests)


@final
@dataclass(frozen=True, slots=True)
class Category:
    """A kind of opponent, the players who are eligible, and their chances; None: all alike likely."""

    kind: Kind
    eligible: Callable[[Pool, Results], Sequence[str]]
    chances: Callable[[Results, Sequence[str]], Floats] | None = None


def _newer_half(pool: Pool, _: Results) -> Sequence[str]:
    """The newer half of the generations, the middle one included."""
    return pool.generations[len(pool.generations) // 2 :]


def _generations(pool: Pool, _: Results) -> Sequence[str]:
    return pool.generations


def _league(pool: Pool, _: Results) -> Sequence[str]:
    return (*pool.generations, *pool.exploiters)


def _forgotten(pool: Pool, results: Results) -> Sequence[str]:
    return [name for name in _league(pool, results) if results.score(name) < FORGOTTEN]


def _lessons(pool: Pool, results: Results) -> Sequence[str]:
    return pool.generations if results.score(MAIN) < HOPELESS else ()


CATEGORIES: Final[Mapping[str, Category]] = {
    "current": Category("current", lambda *_: (CURRENT,)),
    "recent": Category("generation", _newer_half),
    "scripted": Category("scripted", lambda pool, _: pool.scripted),
    "any_past": Category("generation", _generations),
    "quality": Category("generation", _generations, Results.by_quality),
    "hard": Category("generation", _generations, Results.by_difficulty),
    "even": Category("generation", _generations, Results.by_variance),
    "main": Category("main", lambda *_: (MAIN,)),
    "league": Category("generation", _league, Results.by_difficulty),
    "forgotten": Category("generation", _forgotten, Results.by_difficulty),
    "lessons": Category("generation", _lessons, Results.by_variance),
    "guests": Category("generation", lambda pool, _: pool.guests),
    OUTSIDER: Category("outsider", lambda pool, _: pool.outsiders),
}
Shares = dict[str, float]
MODES: Final[Mapping[str, Shares]] = {
    "simple_mix": {"current": 0.4, "recent": 0.3, "scripted": 0.2, "any_past": 0.1},
    "latest": {"current": 1.0},
    "delta_uniform": {"recent": 0.8, "scripted": 0.2},
    "quality": {"current": 0.64, "quality": 0.16, "scripted": 0.2},
    "pfsp": {"current": 0.3, "hard": 0.5, "scripted": 0.2},
    "pfsp_variance": {"current": 0.3, "even": 0.5, "scripted": 0.2},
    "league": {"current": 0.28, "league": 0.4, "forgotten": 0.12, "scripted": 0.2},
    "opponents": {"guests": 1.0},
}
EXPLOITERS: Final[Mapping[str, Shares]] = {
    "main_exploiter": {"main": 0.5, "lessons": 0.5},
    "league_exploiter": {"league": 1.0},
}
"""Whom the other learners of a league meet, by role."""


def with_guests(shares: Mapping[str, float], share: float) -> Shares:
    """The mode with ``share`` of it for guests, the others scaled down; a mode that has guests stays."""
    if "guests" in shares or not share:
        return dict(shares)
    total = sum(shares.values())
    return {name: part / total * (1.0 - share) for name, part in shares.items()} | {"guests": share}
