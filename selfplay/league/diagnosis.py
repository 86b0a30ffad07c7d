"""Goodness of fit of the ratings: misfit, cycles, and the advantage of the first seat.

Ratings assume that strength is one number. If A beats B, B beats C and C beats A, no rating is right, and the
confidence intervals do not show it. The tests here do.

The noise is estimated from the games, by clusters of games of two players on one seed. So draws (less noise than a
coin flip) and correlated games (more noise) get their actual weight. Where payoffs count, some pairs play for more than
others, and each pair has its own noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, final

import numpy as np

from selfplay.league.normal_equations import hessian, laplacian, table
from selfplay.league.statistics import Z95, chi2_above

if TYPE_CHECKING:
    from selfplay.league.games import Bools, Floats, GameTable, Ints
    from selfplay.league.ratings import Ratings
    from selfplay.league.scale import Scale


LEAST_INFORMATION: Final = 1.0
"""Information, in p(1 - p) units, from which the score of a pair is normal enough for the misfit test."""
LEAST_SEEDS: Final = 10  # the same for mean payoffs, which have longer tails
NOISE_SEEDS: Final = 4.0  # seeds with the noise of all pairs that are added to those of a pair, where payoffs count
SURE: Final = 1.644854
"""Standard errors above one half from which a head-to-head score counts as a win (95%, one-sided)."""
MOST_CYCLES: Final = 10
SIDE_PRIOR: Final = 0.2  # prior standard deviation of the seat advantage, in units of strength (35 Elo)


@final
@dataclass(frozen=True, slots=True)
class Encounter:
    """All games of two players. ``score`` is the mean of ``a``, ``z`` its deviation from the expected one.

    Where payoffs count, the score is a payoff, see ``Scale.result``.
    """

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
    """Pearson's chi-square test of all pairs of players; a small ``p`` means that the ratings do not explain them."""

    chi2: float
    df: int
    p: float
    dispersion: float  # variance relative to coin flips: below 1 with draws, above 1 with correlated games
    excess: float  # squared deviations of pairs relative to what games explain


@final
@dataclass(frozen=True, slots=True)
class Cycle:
    """Three players, each of which beats the next, and the last the first; ``scores``, or payoffs, in that order."""

    players: tuple[str, str, str]
    scores: tuple[float, float, float]


@final
@dataclass(frozen=True, slots=True)
class SeatAdvantage:
    """Advantage of the first seat on the scale of the ratings, with its 95% interval."""

    rating: float
    low: float
    high: float
    z: float


@final
@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Goodness of fit of the ratings: misfit, cycles, and the advantage of a seat."""

    encounters: tuple[Encounter, ...]
    misfit: Misfit | None  # None: too few games
    cycles: tuple[Cycle, ...]  # most significant first
    side: SeatAdvantage | None


def diagnose(ratings: Ratings, games: GameTable) -> Diagnosis:
    """Test how well the ratings explain these games; those with people are among the encounters alone."""
    if not len(games):
        return Diagnosis((), None, (), None)
    encounters = _Meetings.of(ratings, games).encounters(ratings.players)
    games = games.subset(~games.of_people)
    if not len(games):
        return Diagnosis(encounters, None, (), None)
    meetings = _Meetings.of(ratings, games)
    return Diagnosis(
        encounters=encounters,
        misfit=meetings.misfit(),
        cycles=meetings.cycles(ratings.players),
        side=_side(ratings, games),
    )


def widened(ratings: Ratings, misfit: Misfit | None) -> Ratings:
    """The ratings with errors that include the misfit: variances times ``excess``, where that is more than 1.

    Errors of a fit are those of the games alone. If the results of pairs scatter more around their expected scores than
    games do, so do the ratings around what each other opponent would say.
    """
    return replace(ratings, cov=ratings.cov * (1.0 if misfit is None else max(1.0, misfit.excess)))


@dataclass(frozen=True, slots=True, eq=False)
class _Meetings:
    """Results of P pairs of players; the first of a pair has the smaller index."""

    first: Ints
    second: Ints
    games: Floats
    seeds: Ints
    won: Floats  # points of the first
    expected: Floats  # mean points of the first according to the ratings
    dispersion: float
    noise: Floats | float  # dispersion of each pair
    doubt: Floats | float  # variance of ``expected``; 0 if wins count, where that of the games is far larger
    pinned: Bools  # [n] players with a fixed rating
    scale: Scale

    @classmethod
    def of(cls, ratings: Ratings, games: GameTable) -> _Meetings:
        scale = ratings.scale
        seats, points = games.seats_among(ratings.players), scale.points(games)
        low, high = seats.min(axis=1), seats.max(axis=1)
        mine = np.where(seats[:, 0] == low, points, scale.other(points))
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
        expected = ratings.expected[first, second]
        spread = np.square(total - length * (won / met)[inverse])
        within = np.bincount(inverse, weights=spread) * seeds / np.maximum(seeds - 1, 1)
        share = (won + 0.5) / (met + 1.0)
        several = seeds > 1
        coins = scale.variance(share, met)
        # Half a pseudo-observation each: without it a few equal results would have zero noise.
        dispersion = (float(within[several].sum()) + 0.5) / (float(coins[several].sum()) + 0.5)
        noise: Floats | float = dispersion
        doubt: Floats | float = 0.0
        if scale.by_payoff:
            noise = (within / coins * seeds + NOISE_SEEDS * dispersion) / (seeds + NOISE_SEEDS)
            doubt = scale.gap_variance(ratings.cov)[first, second] / scale.payoff_of_a_point**2
        return cls(first, second, met, seeds, won, expected, dispersion, noise, doubt, ratings.pinned, scale)

    def _noise(self) -> Floats:
        """[P] variance of the sum of the points of the games."""
        return np.maximum(self.scale.variance(self.expected, self.noise * self.games), 1e-12)

    def _deviations(self) -> Floats:
        return (self.won - self.games * self.expected) / np.sqrt(self._noise() + self.games**2 * self.doubt)

    def encounters(self, players: tuple[str, ...]) -> tuple[Encounter, ...]:
        result, games = self.scale.result, self.games.astype(np.int64)
        figures = result(self.won / self.games), result(self.expected), self._deviations()
        columns = (self.first, self.second, games, self.seeds, *figures)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return tuple(Encounter(players[i], players[j], *row) for i, j, *row in rows)

    def misfit(self) -> Misfit | None:
        used = self.scale.variance(self.expected, self.games) >= LEAST_INFORMATION
        if self.scale.by_payoff:
            used = self.seeds >= LEAST_SEEDS
        df = int(used.sum()) - _fitted(self.first[used], self.second[used], self.pinned, self.scale.sign)
        if df < 1:
            return None
        if self.scale.by_payoff:
            chi2, excess = self._payoff_misfit(used)
            return Misfit(chi2, df, chi2_above(chi2, df), self.dispersion, excess / df)
        chi2 = float(np.square(self._deviations()[used]).sum())
        return Misfit(chi2, df, chi2_above(chi2, df), self.dispersion, chi2 / df)

    def _payoff_misfit(self, used: Bools) -> tuple[float, float]:
        """Chi-square of payoffs by the noise of each pair, and the same by the noise of all pairs.

        The fit gives all games the same weight, so that errors of pairs that play for much are deviations of those that
        play for little. The first is therefore of the ratings that suit these pairs best by their own noise.
        """
        first, second, games, noise = (part[used] for part in (self.first, self.second, self.games, self._noise()))
        deviation = self.won[used] - games * self.expected[used]
        slope, sign, size, free = 0.25 * games, self.scale.sign, len(self.pinned), ~self.pinned
        weights = table(np.stack([first, second], axis=1), slope**2 / noise, size)
        pull = slope * deviation / noise
        pulled = np.bincount(first, pull, size) + sign * np.bincount(second, pull, size)
        change = np.zeros(size)
        change[free] = np.linalg.solve(hessian(weights + weights.T, free, sign), pulled[free])
        left = deviation - slope * (change[first] + sign * change[second])
        return float((left**2 / noise).sum()), float((deviation**2 / games).sum() * games.sum() / noise.sum())

    def cycles(self, players: tuple[str, ...]) -> tuple[Cycle, ...]:
        size = len(players)
        if self.scale.shared:
            return ()  # no game has a winner
        share = (self.won + 0.5) / (self.games + 1.0)
        z = (self.won / self.games - 0.5) / np.sqrt(self.scale.variance(share, self.noise) / self.games)
        lead = np.zeros((size, size))
        lead[self.first, self.second], lead[self.second, self.first] = z, -z
        score = np.full((size, size), 0.5)
        score[self.first, self.second] = self.won / self.games
        score[self.second, self.first] = 1.0 - self.won / self.games
        score = self.scale.result(score)
        beats = lead > SURE
        found = []
        for i in range(size):  # each cycle once, from its smallest index
            beaten, unbeaten = (i + 1 + np.flatnonzero(later) for later in (beats[i, i + 1 :], beats[i + 1 :, i]))
            for a, b in np.argwhere(beats[np.ix_(beaten, unbeaten)]):
                j, k = int(beaten[a]), int(unbeaten[b])
                found.append((float(min(lead[i, j], lead[j, k], lead[k, i])), (i, j, k)))
        found.sort(key=lambda one: (-one[0], one[1]))
        return tuple(
            Cycle((players[i], players[j], players[k]), (float(score[i, j]), float(score[j, k]), float(score[k, i])))
            for _, (i, j, k) in found[:MOST_CYCLES]
        )


def _fitted(first: Ints, second: Ints, pinned: Bools, sign: float) -> int:
    """Number of strengths that these pairs determine: the rank of the equations, without pinned players."""
    size = len(pinned)
    met = table(np.stack([first, second], axis=1), np.ones(len(first)), size)
    return int(np.linalg.matrix_rank(laplacian(met + met.T, sign)[~pinned][:, ~pinned], hermitian=True))


def _side(ratings: Ratings, games: GameTable) -> SeatAdvantage | None:
    """Advantage of the first seat, fitted by Fisher scoring with the strengths held fixed; None for a shared reward."""
    scale = ratings.scale
    if scale.shared:
        return None
    seats, points = games.seats_among(ratings.players), scale.points(games)
    strength = scale.strength(ratings.rating)
    gap = strength[seats[:, 0]] - strength[seats[:, 1]]
    prior = 1.0 / SIDE_PRIOR**2
    worth = 0.0
    for _ in range(50):
        known = float(scale.information(gap + worth).sum()) + prior
        step = (float(_surprise(points, gap + worth, scale).sum()) - prior * worth) / known
        worth += max(-1.0, min(1.0, step))
        if abs(step) < 1e-10:
            break
    _, cluster = np.unique(games.pairs, return_inverse=True)
    squares = np.square(np.bincount(cluster.ravel(), weights=_surprise(points, gap + worth, scale))).sum()
    se = math.sqrt(float(squares) + prior) / (float(scale.information(gap + worth).sum()) + prior)
    unit = scale.step
    return SeatAdvantage(unit * worth, unit * (worth - Z95 * se), unit * (worth + Z95 * se), worth / se)


def _surprise(points: Floats, gap: Floats, scale: Scale) -> Floats:
    """[N] gradient of the log-likelihood of points by the gap in strength."""
    return np.asarray((points - scale.expected(gap)) * scale.pull(gap))
