"""Whether one number a player explains the results: misfit, cycles, and what the seat is worth.

Bradley-Terry assumes that strength is one number and that a game is as good as another. Where A beats B, B beats C and
C beats A no rating is right, and an interval does not show it. The tests here do.

The noise of games is taken from the games themselves, by seeds of the same two players, so that draws (less noise than
a coin) and pairs of games on one seed (more) are counted as what they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from selfplay.league.bradley_terry import expected_scores
from selfplay.league.chance import Z95, chi2_above
from selfplay.league.ratings import ANCHOR_ELO, ELO, Ratings
from selfplay.league.records import ResultRule, scores

if TYPE_CHECKING:
    from selfplay.league.games import Bools, Floats, Games, Ints


LEAST_INFORMATION: Final = 1.0
"""Information, in p(1 - p) units, that a pair needs to count in the misfit test: its score is about normal then."""
SURE: Final = 1.644854
"""Standard errors over one half with which a head-to-head score counts as a win (95%, one-sided)."""
MOST_CYCLES: Final = 10
SIDE_PRIOR: Final = 0.2
"""Standard deviation of what a seat may be worth before any game, in units of strength (35 Elo)."""


@final
@dataclass(frozen=True, slots=True)
class Encounter:
    """All games of two players. ``score`` is the share of ``a``, ``z`` how far it is from what the ratings expect."""

    a: str
    b: str
    games: int
    seeds: int
    score: float
    expected: float
    z: float


@final
@dataclass(frozen=True, slots=True)
class Misfit:
    """Pearson's test of the residuals of all pairs of players; a small ``p`` says that ratings cannot explain them."""

    chi2: float
    df: int
    p: float
    dispersion: float  # noise of games as a multiple of coins': below 1 with draws, above with luck that seeds share


@final
@dataclass(frozen=True, slots=True)
class Cycle:
    """Each scores above one half against the next, and the last against the first; ``scores`` in that order."""

    players: tuple[str, str, str]
    scores: tuple[float, float, float]


@final
@dataclass(frozen=True, slots=True)
class Side:
    """What sitting in the first seat is worth, in Elo, with its 95% interval."""

    elo: float
    low: float
    high: float
    z: float


@final
@dataclass(frozen=True, slots=True)
class Diagnosis:
    """How well a rating describes the games it was made of."""

    encounters: tuple[Encounter, ...]
    misfit: Misfit | None  # None where players met too seldom to tell
    cycles: tuple[Cycle, ...]  # the clearest first
    side: Side | None


def diagnose(ratings: Ratings, games: Games, rule: ResultRule = "stocks_percent") -> Diagnosis:
    """Look for what ``ratings`` do not explain.

    Args:
        ratings: from ``rate`` with these games and this rule.
        games: those that were rated (see ``Games.comparable``).
        rule: who wins a game.
    """
    if not len(games):
        return Diagnosis((), None, (), None)
    meetings = _Meetings.of(ratings, games, rule)
    return Diagnosis(
        encounters=meetings.encounters(ratings.players),
        misfit=meetings.misfit(),
        cycles=meetings.cycles(ratings.players),
        side=_side(ratings, games, rule),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Meetings:
    """P pairs of players who met, the one with the smaller index first."""

    first: Ints
    second: Ints
    games: Floats
    seeds: Ints
    won: Floats  # score of the first
    expected: Floats  # share of the first by the ratings
    dispersion: float
    pinned: Bools  # [n] players whose strength was given

    @classmethod
    def of(cls, ratings: Ratings, games: Games, rule: ResultRule) -> _Meetings:
        seats, points = games.seats_among(ratings.players), scores(games.stocks, games.percents, rule)
        low, high = seats.min(axis=1), seats.max(axis=1)
        mine = np.where(seats[:, 0] == low, points, 1.0 - points)
        size = len(ratings.players)
        _, where, cluster = np.unique(games.pairs, return_index=True, return_inverse=True)
        cluster = cluster.ravel()
        length = np.bincount(cluster).astype(np.float64)
        total = np.bincount(cluster, weights=mine)
        codes, inverse = np.unique((low * size + high)[where], return_inverse=True)
        inverse = inverse.ravel()
        met = np.bincount(inverse, weights=length).astype(np.float64)
        won = np.bincount(inverse, weights=total).astype(np.float64)
        seeds = np.bincount(inverse)
        first, second = codes // size, codes % size
        expected = expected_scores((ratings.elo - ANCHOR_ELO) / ELO)[first, second]
        spread = np.square(total - length * (won / met)[inverse])
        within = np.bincount(inverse, weights=spread) * seeds / np.maximum(seeds - 1, 1)
        share = (won + 0.5) / (met + 1.0)
        several = seeds > 1
        coins = float((met * share * (1.0 - share))[several].sum())
        # Half a coin of either kind: without it a handful of equal results would have no noise at all.
        dispersion = (float(within[several].sum()) + 0.5) / (coins + 0.5)
        return cls(first, second, met, seeds, won, expected, dispersion, ratings.pinned)

    def _deviations(self) -> Floats:
        noise = self.dispersion * self.games * self.expected * (1.0 - self.expected)
        return (self.won - self.games * self.expected) / np.sqrt(np.maximum(noise, 1e-12))

    def encounters(self, players: tuple[str, ...]) -> tuple[Encounter, ...]:
        shares, games = self.won / self.games, self.games.astype(np.int64)
        columns = (self.first, self.second, games, self.seeds, shares, self.expected, self._deviations())
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return tuple(Encounter(players[i], players[j], *figures) for i, j, *figures in rows)

    def misfit(self) -> Misfit | None:
        used = self.games * self.expected * (1.0 - self.expected) >= LEAST_INFORMATION
        df = int(used.sum()) - _fitted(self.first[used], self.second[used], self.pinned)
        if df < 1:
            return None
        chi2 = float(np.square(self._deviations()[used]).sum())
        return Misfit(chi2, df, chi2_above(chi2, df), self.dispersion)

    def cycles(self, players: tuple[str, ...]) -> tuple[Cycle, ...]:
        size = len(players)
        share = (self.won + 0.5) / (self.games + 1.0)
        z = (self.won / self.games - 0.5) / np.sqrt(self.dispersion * share * (1.0 - share) / self.games)
        lead = np.zeros((size, size))
        lead[self.first, self.second], lead[self.second, self.first] = z, -z
        score = np.full((size, size), 0.5)
        score[self.first, self.second] = self.won / self.games
        score[self.second, self.first] = 1.0 - self.won / self.games
        beats = lead > SURE
        found = []
        for i in range(size):  # each cycle once, from its smallest
            beaten, unbeaten = (i + 1 + np.flatnonzero(later) for later in (beats[i, i + 1 :], beats[i + 1 :, i]))
            for a, b in np.argwhere(beats[np.ix_(beaten, unbeaten)]):
                j, k = int(beaten[a]), int(unbeaten[b])
                found.append((float(min(lead[i, j], lead[j, k], lead[k, i])), (i, j, k)))
        found.sort(key=lambda one: (-one[0], one[1]))
        return tuple(
            Cycle((players[i], players[j], players[k]), (float(score[i, j]), float(score[j, k]), float(score[k, i])))
            for _, (i, j, k) in found[:MOST_CYCLES]
        )


def _fitted(first: Ints, second: Ints, pinned: Bools) -> int:
    """Strengths that results between these pairs fix: players less one for each group that hangs together.

    Pinned players hang together and are one player here: no strength of theirs was fitted.
    """
    one = int(np.flatnonzero(pinned)[0])
    first, second = (np.where(pinned[side], one, side) for side in (first, second))
    parent: dict[int, int] = {}

    def root(i: int) -> int:
        while parent.setdefault(i, i) != i:
            i = parent[i]
        return i

    joined = 0
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        a, b = root(i), root(j)
        joined += a != b
        parent[a] = b
    return joined


def _side(ratings: Ratings, games: Games, rule: ResultRule) -> Side | None:
    """What the first seat adds to a player's strength, by Newton's method beside the fitted strengths."""
    seats, points = games.seats_among(ratings.players), scores(games.stocks, games.percents, rule)
    strength = (ratings.elo - ANCHOR_ELO) / ELO
    gap = strength[seats[:, 0]] - strength[seats[:, 1]]
    prior = 1.0 / SIDE_PRIOR**2
    worth = 0.0
    for _ in range(50):
        expected = 0.5 * (1.0 + np.tanh(0.5 * (gap + worth)))
        information = float((expected * (1.0 - expected)).sum()) + prior
        step = (float((points - expected).sum()) - prior * worth) / information
        worth += max(-1.0, min(1.0, step))
        if abs(step) < 1e-10:
            break
    expected = 0.5 * (1.0 + np.tanh(0.5 * (gap + worth)))
    _, cluster = np.unique(games.pairs, return_inverse=True)
    squares = np.square(np.bincount(cluster.ravel(), weights=points - expected)).sum()
    information = float((expected * (1.0 - expected)).sum()) + prior
    se = math.sqrt(float(squares) + prior) / information
    return Side(ELO * worth, ELO * (worth - Z95 * se), ELO * (worth + Z95 * se), worth / se)
