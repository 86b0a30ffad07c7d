"""Ratings of all games of a ledger in one fit, with 95% intervals, and sequential Elo.

In games that are played to win the fit is Bradley-Terry's: a draw is half a win, and Elo is 1500 + strength * 400 /
ln 10. In games that are played for payoffs it is least squares, and a rating is a payoff a game, see ``scale``. The
anchor has strength 0. The order of the games does not matter. Other scripted players can be pinned at measured values
(see ``anchors``), which puts all ledgers with the same settings on one scale.

People do not move the ratings of others. Theirs are fitted last, with all others held at their ratings.

The prior is one virtual draw of each generation with the previous one, and of every other player with the anchor. It
keeps the ratings finite for perfect scores and for players without games. With a shared reward no player is an anchor,
and the prior is half a virtual game of each player with itself, of mean payoff.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np

from selfplay.errors import LeagueError
from selfplay.league.bradley_terry import gap_of_score, maximise, score_of_gap
from selfplay.league.normal_equations import least_squares, response, robust_covariance, table
from selfplay.league.records import ANCHOR, generation_number, ladder_key, person_name
from selfplay.league.scale import ANCHOR_ELO, ELO, Ends, Scale
from selfplay.league.statistics import Z95, normal_below

if TYPE_CHECKING:
    from selfplay.league.games import Bools, Floats, GameTable, Ints


PRIOR_DRAWS: Final = 1.0  # virtual draws of each player with the previous generation or with the anchor

Bound = Literal["both", "below", "above", "none"]
"""Sides on which games bound a rating or a difference; without a lost point there is no upper bound."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Ratings of n players: scripted players and people by name, then generations by age."""

    players: tuple[str, ...]
    rating: Floats  # [n] on ``scale``
    cov: Floats  # [n, n] covariance of the ratings; zero for the anchor
    met: Ints  # [n, n] games between two players
    won: Floats  # [n, n] score of the row's player against the column's
    floor: Bools  # [n] bounded from below: the player scored, possibly through others, against a pinned player
    ceiling: Bools  # [n] bounded from above: a pinned player scored, possibly through others, against the player
    pinned: Bools  # [n] the rating is fixed, not fitted
    people: Bools  # [n] persons
    points: Floats  # [n, n] points of the row's player against the column's, see ``scale``: ``won`` if wins count
    scale: Scale

    @property
    def se(self) -> Floats:
        """[n] standard errors."""
        return np.sqrt(np.maximum(np.diag(self.cov), 0.0))

    @property
    def low(self) -> Floats:
        """[n] lower ends of the 95% intervals."""
        return self.rating - Z95 * self.se

    @property
    def high(self) -> Floats:
        """[n] upper ends of the 95% intervals."""
        return self.rating + Z95 * self.se

    @property
    def games(self) -> Ints:
        """[n] number of games of each player."""
        return np.asarray(self.met.sum(axis=1))

    @property
    def expected(self) -> Floats:
        """[n, n] expected points of the row's player against the column's."""
        return self.scale.expected(self.scale.gaps(self.scale.strength(self.rating)))

    def index(self, player: str) -> int:
        """Index of a player in the arrays; LeagueError if it has no rating."""
        if player not in self.players:
            raise LeagueError(f"{player!r} has no rating (rated: {', '.join(self.players)})")
        return self.players.index(player)

    def components(self) -> tuple[tuple[str, ...], ...]:
        """Connected components of the graph of games; the anchor's component first."""
        left, found = list(range(len(self.players))), []
        start = self.pinned if self.pinned.any() else np.arange(len(self.players)) == 0
        while left:
            reached = _reachable(self.met > 0, start)
            found.append(tuple(self.players[i] for i in left if reached[i]))
            left = [i for i in left if not reached[i]]
            start = np.arange(len(self.players)) == (left[0] if left else -1)
        return tuple(found)

    def gaps(self) -> tuple[Floats, Floats]:
        """[n, n] rating of the row's player minus the column's, and the standard errors."""
        return self.rating[:, None] - self.rating[None, :], np.sqrt(np.maximum(gap_variance(self.cov), 0.0))

    def difference(self, player: str, other: str) -> Difference:
        """Rating of ``player`` minus ``other``; the interval takes their covariance into account."""
        two = [self.index(player), self.index(other)]
        gap = float(self.rating[two[0]] - self.rating[two[1]])
        se = math.sqrt(max(0.0, float(gap_variance(self.cov[np.ix_(two, two)])[0, 1])))
        likely = normal_below(gap / se) if se > 0 else 0.5
        scored = _bounds(self.met, self.won, self.scale) | (self.pinned[:, None] & self.pinned[None, :])
        other_only = np.arange(len(self.players)) == two[1]
        from_below, from_above = _reachable(scored, other_only, backwards=True), _reachable(scored, other_only)
        bound = bounded(bool(from_below[two[0]]), bool(from_above[two[0]]))
        return Difference(gap, gap - Z95 * se, gap + Z95 * se, likely, bound)

    def beaten_by(self, player: str) -> list[str]:
        """Players, other than people and generations, that stand clearly below ``player``, the strongest first.

        The 95% interval of the difference excludes 0, and ``player`` has more than half of the points of their games.
        """
        me, found = self.index(player), list[str]()
        if self.scale.shared:
            return found  # both players of a game are paid alike
        for i in np.argsort(-self.rating, kind="stable").tolist():
            name = self.players[i]
            if self.people[i] or generation_number(name) is not None or name == player:
                continue
            low, _ = self.difference(player, name).ends
            won = not self.met[me, i] or self.points[me, i] > self.met[me, i] / 2
            if low is not None and low > 0 and won:
                found.append(name)
        return found


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """Difference of two ratings with its 95% interval, and the probability that it is positive."""

    rating: float
    low: float
    high: float
    superiority: float
    bound: Bound = "both"

    @property
    def ends(self) -> Ends:
        """Ends of the interval, open where the games give no bound."""
        return open_ends(self.low, self.high, self.bound)


def bounded(from_below: bool, from_above: bool) -> Bound:
    if from_below and from_above:
        return "both"
    return "below" if from_below else "above" if from_above else "none"


def open_ends(low: float, high: float, bound: Bound) -> Ends:
    """The ends of an interval, None where the games give no bound."""
    return (low if bound in ("both", "below") else None), (high if bound in ("both", "above") else None)


def expected_score(elo: float, other: float) -> float:
    """Expected score of a player rated ``elo`` against one rated ``other``."""
    return float(score_of_gap(np.array((elo - other) / ELO)))


def gap_variance(cov: Floats) -> Floats:
    """[n, n] variance of rating differences, from the covariance."""
    variance = np.diag(cov)
    return np.asarray(variance[:, None] + variance[None, :] - 2.0 * cov)


def elo_of_score(share: float) -> float | None:
    """Elo difference for an expected score; None where no finite one is enough."""
    gap = gap_of_score(share)
    return None if gap is None else ELO * gap


def rate(
    games: GameTable,
    players: Iterable[str] = (),
    settings: str | None = None,
    anchors: Mapping[str, float] | None = None,
    anchor: str = ANCHOR,
) -> Ratings:
    """Fit the ratings of all players under one set of settings.

    Games with people rate the people, and players without any other game; all other ratings are those without
    these games.

    Only comparable games are used, see ``GameTable.comparable``. ``players`` are listed even without games. ``anchor``
    is the player at 1500, or at 0 where payoffs count, ``anchors`` the ratings of other pinned players.
    """
    players = list(players)
    games = games.comparable(settings, keep=players).games
    of_people = games.of_people
    others = games.subset(~of_people)
    scale = Scale.of_games(others if len(others) else games)
    given = dict(anchors or {}) if scale.shared else {**(anchors or {}), anchor: scale.origin}
    base = _fit(others, _names(others, {anchor, *players}), given, anchor, scale)
    if not of_people.any():
        return base
    names = _names(games, base.players)
    held = np.array([name in base.players for name in names])
    found = _fit(games, names, dict(zip(base.players, base.rating.tolist(), strict=True)), anchor, scale)
    # The error of a player in ``base`` moves the players that are fitted to it.
    met, ties = found.met.astype(np.float64), prior_draws(names, anchor, scale)
    moves = np.zeros((len(names), len(base.players)))
    moves[held] = np.eye(len(base.players))
    moves[~held] = response(scale.strength(found.rating), met, ties, ~held, scale)
    rating, pinned = found.rating.copy(), np.zeros(len(names), dtype=np.bool_)
    rating[held], pinned[held] = base.rating, base.pinned
    floor, ceiling = _bounded_sides(found.met, found.won, pinned, scale)
    floor[held], ceiling[held] = base.floor, base.ceiling
    cov = found.cov + moves @ base.cov @ moves.T
    return replace(found, rating=rating, cov=cov, floor=floor, ceiling=ceiling, pinned=pinned)


def _names(games: GameTable, more: Iterable[str]) -> list[str]:
    return sorted({*more, *(games.players[i] for i in np.unique(games.seats))}, key=ladder_key)


def _fit(games: GameTable, names: list[str], given: Mapping[str, float], anchor: str, scale: Scale) -> Ratings:
    """Ratings of ``names``, with those of ``given`` ones fixed."""
    seats, points = games.seats_among(names), scale.points(games)
    met = _both_ways(seats, np.ones(len(games)), np.ones(len(games)), len(names))
    won = _both_ways(seats, games.scores, 1.0 - games.scores, len(names))
    scored = _both_ways(seats, points, scale.other(points), len(names)) if scale.by_payoff else won
    ties = prior_draws(names, anchor, scale)
    known = scale.strength(np.array([given.get(name, np.nan) for name in names]))
    pinned = ~np.isnan(known)
    fit = (met, scored, ties, known)
    strength = least_squares(*fit, scale) if scale.by_payoff else maximise(*fit)
    cov = robust_covariance(strength, seats, points, games.pairs, met, ties, ~pinned, scale)
    floor, ceiling = _bounded_sides(met, won, pinned, scale)
    return Ratings(
        players=tuple(names),
        rating=scale.origin + scale.step * strength,
        cov=scale.step**2 * cov,
        met=met.astype(np.int64),
        won=won,
        floor=floor,
        ceiling=ceiling,
        pinned=pinned,
        people=np.array([person_name(name) is not None for name in names], dtype=np.bool_) & (not games.external),
        points=scored,
        scale=scale,
    )


def _both_ways(seats: Ints, first: Floats, second: Floats, size: int) -> Floats:
    """[n, n] sums of the row's player against the column's, of values [N] of the first and of the second players."""
    return table(seats, first, size) + table(seats[:, ::-1], second, size)


def _bounds(met: Floats | Ints, won: Floats, scale: Scale) -> Bools:
    """[n, n] whether the games of two players bound the row's from below: a payoff is finite, so any game does."""
    return np.asarray(met > 0) if scale.by_payoff else np.asarray(won > 0)


def _bounded_sides(met: Floats | Ints, won: Floats, pinned: Bools, scale: Scale) -> tuple[Bools, Bools]:
    """The ``floor`` and ``ceiling`` fields of ``Ratings``."""
    edges = _bounds(met, won, scale)
    start = np.asarray(edges.any(axis=1)) if scale.shared else pinned
    return _reachable(edges, start, backwards=True), _reachable(edges, start)


def prior_draws(names: list[str], anchor: str, scale: Scale) -> Floats:
    """[n, n] virtual draws."""
    if scale.shared:
        return PRIOR_DRAWS * np.eye(len(names))
    ties = np.zeros((len(names), len(names)))
    elder = base = names.index(anchor)
    for i, name in enumerate(names):
        if i == base:
            continue
        is_generation = generation_number(name) is not None
        tied = elder if is_generation else base
        ties[i, tied] += PRIOR_DRAWS
        ties[tied, i] += PRIOR_DRAWS
        elder = i if is_generation else elder
    return ties


def _reachable(edges: Bools, start: Bools, *, backwards: bool = False) -> Bools:
    """[n] players reachable from ``start``. An edge (i, j) means that i scored against j.

    Forwards: players that ``start`` scored against, possibly through others. ``backwards``: players that scored against
    ``start``.
    """
    steps = edges.T if backwards else edges
    reached = start.copy()
    while True:
        wider = reached | steps[reached].any(axis=0)
        if (wider == reached).all():
            return reached
        reached = wider


def k_factor(games_played: int) -> float:
    """K-factor: 40 points in the first 30 games, 32 up to 100, then 24."""
    return 40.0 if games_played < 30 else 32.0 if games_played < 100 else 24.0


def sequential_elo(games: GameTable, anchor: str | None = ANCHOR) -> dict[str, float]:
    """K-factor Elo after all games, in ledger order. All players start at 1500; the anchor stays there.

    The result depends on the order of the games and does not converge. Use it only to compare with older tables. Each
    player has its own K, so points are not conserved. With ``anchor=None`` no player is fixed. Games with people come
    last and rate only the people. LeagueError where payoffs count, of which it knows only the sign.
    """
    if games.objective.by_payoff:
        raise LeagueError("sequential Elo counts wins only, and these games are played for payoffs; valid: batch")
    of_people = games.of_people
    games = games.take(np.argsort(of_people, kind="stable"))
    of_people = np.sort(of_people)
    elo: dict[str, float] = {}
    played: dict[str, int] = {}
    points = games.scores.tolist()
    for (first, second), point, social in zip(games.seats.tolist(), points, of_people.tolist(), strict=True):
        names = games.players[first], games.players[second]
        old = [elo.setdefault(name, ANCHOR_ELO) for name in names]
        surprise = point - expected_score(old[0], old[1])
        for name, rating, change in zip(names, old, (surprise, -surprise), strict=True):
            count = played.get(name, 0)
            played[name] = count + 1
            if name != anchor and (not social or person_name(name) is not None):
                elo[name] = rating + k_factor(count) * change
    return elo
