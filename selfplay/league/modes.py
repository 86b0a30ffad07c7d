"""The modes of ``--mode``: which opponents a learner meets in training, and how often.

A mode gives weights to categories. A category defines the eligible players and the probability of each. A new mode is
a line in ``MODES`` and, if needed, one in ``CATEGORIES``.

- ``simple_mix``: the current policy, recent and old generations, scripted players.
- ``latest``: only the current policy.
- ``delta_uniform``: uniform over the newer half of the generations (Bansal et al. 2018, delta = 0.5).
- ``quality``: four fifths the current policy, one fifth generations by quality (OpenAI Five).
- ``pfsp``: the current policy, and generations that it loses to (AlphaStar's prioritized fictitious self-play).
- ``pfsp_variance``: as ``pfsp``, but prefers generations of equal strength.
- ``league``: pfsp over all generations and frozen exploiters, with two more learners: the main exploiter trains against
  the main agent, the league exploiter against all frozen policies (AlphaStar, Vinyals et al. 2019).
- ``opponents``: only the policies of ``--opponent``, to train an exploiter of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

from selfplay.league.results import Results

if TYPE_CHECKING:
    from selfplay.league.games import Floats

Kind = Literal["current", "main", "generation", "scripted", "outsider"]
CURRENT: Final = "current"  # the learner itself: both seats play its newest weights, and both train
MAIN: Final = "main"  # the current main agent of a league, as an opponent of an exploiter; also the name of its role
EXTERNAL: Final = "external"  # category of policies of other runs
OUTSIDER: Final = "outsider"
"""Category for games in which a fixed player has the other seat. No mode contains it."""
FORGOTTEN_BELOW: Final = 0.3  # score below which a past opponent counts as forgotten
LESSONS_BELOW: Final = 0.2  # score against the main agent below which an exploiter trains against older generations


@final
@dataclass(frozen=True, slots=True)
class Opponent:
    """The learner's opponent for one episode, and the category that it was drawn from.

    Kind ``generation`` is any frozen policy. An ``outsider`` is not controlled by us: a person, or the game's own CPU.
    """

    kind: Kind
    id: str
    category: str


@final
@dataclass(frozen=True, slots=True)
class OpponentPool:
    """All possible opponents, each tuple from old to new.

    ``generations`` are of the run's main agent, ``exploiters`` frozen policies of its other learners,
    ``external_opponents`` policies of other runs, ``outsiders`` fixed players of the other seat.
    """

    generations: tuple[str, ...] = ()
    scripted: tuple[str, ...] = ()
    exploiters: tuple[str, ...] = ()
    external_opponents: tuple[str, ...] = ()
    outsiders: tuple[str, ...] = ()

    @property
    def frozen(self) -> tuple[str, ...]:
        return (*self.generations, *self.exploiters, *self.external_opponents)


@final
@dataclass(frozen=True, slots=True)
class Category:
    """A kind of opponent, the eligible players, and their probabilities (None: uniform)."""

    kind: Kind
    eligible: Callable[[OpponentPool, Results], Sequence[str]]
    chances: Callable[[Results, Sequence[str]], Floats] | None = None


def _newer_half(pool: OpponentPool, _: Results) -> Sequence[str]:
    """The newer half of the generations, the middle one included."""
    return pool.generations[len(pool.generations) // 2 :]


def _generations(pool: OpponentPool, _: Results) -> Sequence[str]:
    return pool.generations


def _league(pool: OpponentPool, _: Results) -> Sequence[str]:
    return (*pool.generations, *pool.exploiters)


def _forgotten(pool: OpponentPool, results: Results) -> Sequence[str]:
    return [name for name in _league(pool, results) if results.score(name) < FORGOTTEN_BELOW]


def _lessons(pool: OpponentPool, results: Results) -> Sequence[str]:
    return pool.generations if results.score(MAIN) < LESSONS_BELOW else ()


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
    EXTERNAL: Category("generation", lambda pool, _: pool.external_opponents),
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
    "opponents": {EXTERNAL: 1.0},
}
EXPLOITERS: Final[Mapping[str, Shares]] = {
    "main_exploiter": {"main": 0.5, "lessons": 0.5},
    "league_exploiter": {"league": 1.0},
}
"""Weights of the other learners of a league, by role."""


def turns(mode: str) -> tuple[str, ...]:
    """Whose games blocks are, in turn: in a league the main agent has half of them."""
    return (MAIN, MAIN, *EXPLOITERS) if mode == "league" else (MAIN,)


def with_external_opponents(shares: Mapping[str, float], share: float) -> Shares:
    """Give external opponents ``share`` of the total weight. A mode that already has them is returned unchanged."""
    if EXTERNAL in shares or not share:
        return dict(shares)
    total = sum(shares.values())
    return {name: part / total * (1.0 - share) for name, part in shares.items()} | {EXTERNAL: share}
