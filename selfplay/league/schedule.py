"""Which players meet next in rating games, within a budget.

First the player that the scale is tied to must have met a generation. Then everybody must have met an anchor, the
start, a recent generation and an old one (a ladder of which each rung only met the rung below rates progress that is
not there). What is left of the budget goes where a game tells most: p(1 - p) times the variance of the two players'
difference.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from selfplay.errors import LeagueError
from selfplay.league.ratings import ELO, Ratings, gap_variance
from selfplay.league.records import ANCHOR, OUTSIDE, START, check_player, generation_number, ladder_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from selfplay.league.games import Bools, Floats, Ints

_SEEDS: Final = 2**53
"""Seeds are whole numbers that any reader of JSON keeps exactly."""


@final
@dataclass(frozen=True, slots=True)
class Seating:
    """One game to play: who sits in each seat, with which character."""

    players: tuple[str, str]
    characters: tuple[str, str]


@final
@dataclass(frozen=True, slots=True)
class Fixture:
    """Two players who are to meet on one seed, from both seats."""

    a: str
    b: str
    seed: int

    def seatings(self, character: str, other: str | None = None) -> tuple[Seating, ...]:
        """The games of the fixture: two, seats swapped; with two characters four, each player having each once."""
        bodies = [(character, other or character)]
        if other is not None and other != character:
            bodies.append((other, character))
        games = []
        for body_a, body_b in bodies:
            games += [Seating((self.a, self.b), (body_a, body_b)), Seating((self.b, self.a), (body_b, body_a))]
        return tuple(games)


def plan(
    ratings: Ratings, players: Iterable[str], budget: int, rng: np.random.Generator, games_each: int = 2
) -> list[Fixture]:
    """The next fixtures, most needed first. The same arguments and generator state give the same list.

    Args:
        ratings: from ``rate(games, players=players)``.
        players: who may play: saved generations and scripted players (those outside the ladder are skipped).
        budget: games to spend; what does not make a whole fixture is left.
        rng: breaks ties and draws the seeds.
        games_each: games of a fixture: 2, or 4 with two characters.

    Raises:
        LeagueError: ``ratings`` does not list one of the players.
    """
    names = sorted({check_player(name) for name in players} - OUTSIDE, key=ladder_key)
    if games_each < 1:
        raise LeagueError(f"a fixture has at least one game, not {games_each}")
    if len(names) < 2:
        return []
    where = np.array([ratings.index(name) for name in names])
    state = _State(
        names,
        ratings.elo[where] / ELO,
        ratings.cov[np.ix_(where, where)] / ELO**2,
        ratings.met[np.ix_(where, where)].astype(np.float64),
        ratings.pinned[where],
        games_each,
    )
    chosen = []
    for _ in range(max(0, budget) // games_each):
        i, j = state.missing(rng) or state.most_telling(rng)
        state.add(i, j)
        chosen.append(Fixture(names[i], names[j], int(rng.integers(_SEEDS))))
    return chosen


def repeat(a: str, b: str, budget: int, rng: np.random.Generator, games_each: int = 2) -> list[Fixture]:
    """Fixtures of the same two players, one at least, for at most ``budget`` games."""
    return [Fixture(a, b, int(rng.integers(_SEEDS))) for _ in range(max(1, budget // games_each))]


def kinds_of_opponents(place: int, names: Sequence[str]) -> dict[str, Ints]:
    """Those whom the player at a place of ``names`` should have met, by kind, as places; empty kinds are left out.

    A generation meets the anchors, the start, recent generations (the newer half of those before it) and old ones
    (the older half but the start). A scripted player meets the other scripted ones.

    Args:
        place: of the player.
        names: scripted players first, then generations by age.
    """
    scripted = bisect_left(names, 0, key=_age)
    kinds = {"anchor": np.arange(scripted)}
    if place < scripted:
        kinds["anchor"] = np.delete(kinds["anchor"], place)
    else:
        middle, oldest = (scripted + place) // 2, scripted + (names[scripted] == START)
        kinds |= {
            "start": np.arange(scripted, min(oldest, place)),
            "recent": np.arange(middle, place),
            "old": np.arange(oldest, middle),
        }
    return {kind: members for kind, members in kinds.items() if len(members)}


def _age(name: str) -> int:
    number = generation_number(name)
    return -1 if number is None else number


class _State:
    """Ratings of n players as they will be once the planned games are played."""

    def __init__(
        self, names: list[str], strength: Floats, cov: Floats, met: Floats, pinned: Bools, games_each: int
    ) -> None:
        gap = strength[:, None] - strength[None, :]
        self._noise = 0.25 / np.cosh(0.5 * gap) ** 2  # p(1 - p)
        self._each_pair = np.triu(self._noise, 1)  # once
        self._cov = cov
        self._met = met
        self._games = games_each
        # First a tie to the anchor, without which no rating means anything. Then newest first, so that a short budget
        # shows where training stands; then the scripted ones. Who is pinned needs nobody: its rating is known.
        generations = np.array([i for i, name in enumerate(names) if generation_number(name) is not None], np.int64)
        alone = pinned.sum() == 1 and ANCHOR in names and len(generations)
        self._wanted = deque([(names.index(ANCHOR), generations)] if alone else [])
        for i in reversed(np.flatnonzero(~pinned).tolist()):
            self._wanted.extend((i, members) for members in kinds_of_opponents(i, names).values())

    def missing(self, rng: np.random.Generator) -> tuple[int, int] | None:
        """The first player who has not met one of its kinds of opponents, with the most telling one of that kind."""
        while self._wanted:
            i, members = self._wanted[0]
            if not self._met[i, members].any():
                spread = np.diag(self._cov)
                gain = self._noise[i, members] * (spread[i] + spread[members] - 2.0 * self._cov[i, members])
                return i, int(members[_argmax(gain, rng)])
            self._wanted.popleft()
        return None

    def most_telling(self, rng: np.random.Generator) -> tuple[int, int]:
        """The pair of whom another game tells most."""
        gain = self._each_pair * gap_variance(self._cov)
        i, j = divmod(_argmax(gain.ravel(), rng), len(gain))
        return i, j

    def add(self, i: int, j: int) -> None:
        """Count a fixture as played: the covariance after observing ``games_each`` more scores of i against j."""
        self._met[i, j] += self._games
        self._met[j, i] += self._games
        direction = self._cov[:, i] - self._cov[:, j]
        weight = self._games * self._noise[i, j]
        spread = float(direction[i] - direction[j])
        self._cov = self._cov - np.outer(direction, direction) * (weight / (1.0 + weight * spread))


def _argmax(values: Floats, rng: np.random.Generator) -> int:
    """Position of the largest value; among equals (to a millionth) one at random."""
    best = np.flatnonzero(values >= values.max() - 1e-6 * abs(values.max()))
    return int(rng.choice(best))
