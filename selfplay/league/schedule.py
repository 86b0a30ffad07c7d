"""Chooses the next rating games within a budget.

First the anchor plays a generation. Then the newest generation plays an anchor, the start, a recent and an old
generation; generations that only play their neighbours can show progress that is not there. Each further matchup is
the one that most reduces a weighted sum of the variances of the ratings (an A-optimal design, chosen greedily). Half of
the weight is the newest generation's, because that is the rating people ask for, and nearly all of it at the end.

A generation without games is assumed to be as strong as the interpolation in time says. The information of a game, see
``bradley_terry``, is averaged over the posterior of the rating difference: one that is one-sided at the estimated
strengths still tells much while the estimate is uncertain. The games of one pair give less and less, because a pair's
results differ from what the ratings of its two players predict (``PAIR_SPREAD``).
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from selfplay.errors import ConfigError, LeagueError
from selfplay.league.anchors import ratings_of
from selfplay.league.payoffs import payoff_interval
from selfplay.league.records import ANCHOR, OUTSIDE, START, check_player, generation_number, ladder_key
from selfplay.league.statistics import score_interval
from selfplay.seeding import derive

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.league.anchors import RatingConditions
    from selfplay.league.games import Bools, Floats, GameTable, Ints
    from selfplay.league.ratings import Ratings
    from selfplay.league.scale import Scale

_SEEDS: Final = 2**53  # seeds below this number are exact in every JSON reader
NEWEST_WEIGHT: Final = 0.5  # of the newest generation, in the sum of variances that the games are to reduce
LAST_WEIGHT: Final = 0.9  # the same when training has ended
PAIR_SPREAD: Final = 0.3  # standard deviation of a pair's own deviation from its rating difference, in strength
GAMES_PER_RESULT: Final = 16  # games of a result that is shown


@final
@dataclass(frozen=True, slots=True)
class Matchup:
    """Two players who meet on one seed, in the order of their seats, and the roles that they have, if any."""

    players: tuple[str, str]
    roles: tuple[str, ...] = ()
    seed: int = 0

    def games(self, roles: Sequence[tuple[str, ...]] = ((),)) -> tuple[Matchup, ...]:
        """Its games: two for each assignment of roles to the first and the second player, seats swapped."""
        a, b = self.players
        games = []
        for seated in roles:
            games += [Matchup((a, b), seated, self.seed), Matchup((b, a), seated[::-1], self.seed)]
        return tuple(games)


def plan(
    ratings: Ratings,
    players: Iterable[str],
    budget: int,
    rng: np.random.Generator,
    games_each: int = 2,
    newest_weight: float = NEWEST_WEIGHT,
) -> list[Matchup]:
    """The next matchups, most needed first; deterministic for the same generator state.

    ``ratings`` are from ``rate(games, players=players)``. Of the ``budget``, a number of games, a remainder smaller
    than one matchup of ``games_each`` is not used. ``rng`` breaks ties and draws the seeds. ``newest_weight`` is the
    share of the newest generation in the sum of variances.
    """
    names = sorted({check_player(name) for name in players} - OUTSIDE, key=ladder_key)
    if games_each < 1:
        raise LeagueError(f"a matchup has at least one game, not {games_each}")
    if len(names) < 2:
        return []
    where = np.array([ratings.index(name) for name in names])
    state = _State(
        names,
        _assumed(names, ratings.rating[where], ratings.games[where] > 0) / ratings.scale.step,
        ratings.cov[np.ix_(where, where)] / ratings.scale.step**2,
        ratings.met[np.ix_(where, where)].astype(np.float64),
        ratings.pinned[where],
        games_each,
        newest_weight,
        ratings.scale,
    )
    chosen = []
    for _ in range(max(0, budget) // games_each):
        i, j = state.missing(rng) or state.most_informative(rng)
        state.add(i, j)
        chosen.append(Matchup((names[i], names[j]), seed=int(rng.integers(_SEEDS))))
    return chosen


def plan_games(
    games: GameTable,
    conditions: RatingConditions,
    players: Sequence[str],
    budget: int,
    rng: np.random.Generator,
    run: Path | None = None,
    *,
    last: bool = False,
) -> list[Matchup]:
    """The matchups of ``plan`` by the ratings of the ledger's games; the folder ``run`` may have a table of anchors.

    ``last``: training has ended, and nearly all games are to tell the strength of the newest generation.
    """
    ratings = ratings_of(games, conditions, players, run)
    return plan(ratings, players, budget, rng, conditions.games_each, LAST_WEIGHT if last else NEWEST_WEIGHT)


def repeat(a: str, b: str, budget: int, rng: np.random.Generator, games_each: int = 2) -> list[Matchup]:
    """Matchups of the same two players, one at least, for at most ``budget`` games."""
    return [Matchup((a, b), seed=int(rng.integers(_SEEDS))) for _ in range(max(1, budget // games_each))]


def pairings_of(
    players: Sequence[str], opponents: Sequence[str], games: int, characters: tuple[str, ...], seed: int
) -> list[Matchup]:
    """Games to record: all pairs in turn, then the same pairs with seats swapped, and again.

    Players have the first of the ``characters``, opponents the second. Without opponents the players play each other in
    both seats; a single player plays itself. A game's own seed depends on ``seed`` and the number of the game.
    """
    if not players:
        raise ConfigError("at least one player is needed")
    if games < 1:
        raise ConfigError(f"--games {games}: at least 1 is needed")
    players, opponents = list(dict.fromkeys(players)), list(dict.fromkeys(opponents))
    if opponents:
        meetings = list(itertools.product(players, opponents))
    else:
        meetings = list(itertools.permutations(players, 2)) or [(players[0], players[0])]
    matchups = []
    for number in range(games):
        (a, b), bodies = meetings[number % len(meetings)], characters
        if number // len(meetings) % 2:
            a, b, bodies = b, a, characters[::-1]
        matchups.append(Matchup((a, b), bodies, derive(seed, "record", number)))
    return matchups


def kinds_of_opponents(place: int, names: Sequence[str]) -> dict[str, Ints]:
    """Opponents that the player at ``place`` should meet, as indices by kind; empty kinds are left out.

    A generation meets the anchors, the start, recent generations (the newer half of those before it) and old ones (the
    older half without the start). A scripted player meets the other scripted players. ``names`` are scripted players,
    then generations by age.
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


def _assumed(names: Sequence[str], rating: Floats, played: Bools) -> Floats:
    """[n] ratings; that of a generation without games is interpolated between those before and after it."""
    ages = np.array([_age(name) for name in names])
    known, unknown = played & (ages >= 0), ~played & (ages >= 0)
    if not known.any():
        return rating
    return np.where(unknown, np.interp(ages, ages[known], rating[known]), rating)


def _age(name: str) -> int:
    number = generation_number(name)
    return -1 if number is None else number


class _State:
    """Expected covariance of the ratings after the planned games."""

    def __init__(
        self,
        names: list[str],
        strength: Floats,
        cov: Floats,
        met: Floats,
        pinned: Bools,
        games_each: int,
        newest_weight: float,
        scale: Scale,
    ) -> None:
        self._scale = scale
        self._gap = scale.gaps(strength)
        self._cov = cov
        self._met = met
        self._games = games_each
        # Pinned players need no games.
        free = np.flatnonzero(~pinned).tolist()
        generations = np.array([i for i, name in enumerate(names) if generation_number(name) is not None], np.int64)
        newest = int(generations[-1]) if len(generations) else -1
        self._weight = np.where(pinned, 0.0, (1.0 - newest_weight) / max(len(free) - 1, 1))
        if newest in free:
            self._weight[newest] = newest_weight
        # The first game with the anchor fixes the scale.
        alone = pinned.sum() == 1 and ANCHOR in names and len(generations)
        self._wanted = deque([(names.index(ANCHOR), generations)] if alone else [])
        if newest in free:
            self._wanted.extend((newest, members) for members in kinds_of_opponents(newest, names).values())

    def missing(self, rng: np.random.Generator) -> tuple[int, int] | None:
        """The next player without games against a kind of opponent, and the most informative opponent of that kind."""
        while self._wanted:
            i, members = self._wanted[0]
            if not self._met[i, members].any():
                return i, int(members[_argmax(self._gains()[i, members], rng)])
            self._wanted.popleft()
        return None

    def most_informative(self, rng: np.random.Generator) -> tuple[int, int]:
        """The pair whose next matchup reduces the weighted sum of variances most."""
        i, j = divmod(_argmax(np.triu(self._gains(), 1).ravel(), rng), len(self._cov))
        return i, j

    def add(self, i: int, j: int) -> None:
        """Update the covariance as if ``games_each`` more games of i against j were observed."""
        told = self._information()[i, j]
        sign = self._scale.sign
        direction = self._cov[:, i] + sign * self._cov[:, j]
        spread = float(direction[i] + sign * direction[j])
        self._cov = self._cov - np.outer(direction, direction) * (told / (1.0 + told * spread))
        self._met[i, j] += self._games
        self._met[j, i] += self._games

    def _gains(self) -> Floats:
        """[n, n] reduction of the weighted sum of variances by the next matchup of two players."""
        told = self._information()
        explained = self._scale.gap_variance(
            (self._cov * self._weight) @ self._cov
        )  # sum over k of w_k (cov_ki - cov_kj)^2
        return np.asarray(explained * told / (1.0 + told * self._scale.gap_variance(self._cov)))

    def _information(self) -> Floats:
        """[n, n] information of the next matchup about a rating difference, given the games before it."""
        # Averaged over a normal posterior, by the probit approximation of MacKay (1992) for the logistic density.
        # That of a payoff is the same at any gap.
        flatter = 1.0 / np.sqrt(1.0 + np.pi / 8.0 * np.maximum(self._scale.gap_variance(self._cov), 0.0))
        flatter = np.ones_like(flatter) if self._scale.by_payoff else flatter
        each = flatter * self._scale.information(flatter * self._gap)
        before, after = each * self._met, each * (self._met + self._games)
        return np.asarray(after / (1.0 + PAIR_SPREAD**2 * after) - before / (1.0 + PAIR_SPREAD**2 * before))


def _argmax(values: Floats, rng: np.random.Generator) -> int:
    """Index of the largest value; ties (to a millionth) are broken at random."""
    best = np.flatnonzero(values >= values.max() - 1e-6 * abs(values.max()))
    return int(rng.choice(best))


def results(games: GameTable, scripted: str, since: float = 0) -> tuple[Floats, Ints]:
    """Results [K] of generations against a scripted player in comparable games, and the pair label [K] of each game.

    They are scores, or ``GameTable.leads`` where payoffs count.

    The newest generations count, as few as have ``GAMES_PER_RESULT`` games together, and none older than ``since``.
    """
    if scripted not in games.players:
        return np.zeros(0), np.zeros(0, np.int64)
    ages = np.array([-1 if (n := generation_number(name)) is None else n for name in games.players], np.int64)
    theirs = games.seats == games.players.index(scripted)
    age = np.where(theirs[:, 0], ages[games.seats[:, 1]], ages[games.seats[:, 0]])
    counts = theirs.any(axis=1) & (age >= since)
    if counts.sum() > GAMES_PER_RESULT:
        counts &= age >= np.sort(age[counts])[-GAMES_PER_RESULT]
    if (leads := games.leads) is None:
        mine = np.where(theirs[:, 0], 1.0 - games.scores, games.scores)
    else:
        mine = np.where(theirs[:, 0] & (games.objective.kind != "shared"), -leads, leads)
    return mine[counts], games.pairs[counts]


def scores_against(games: GameTable, scripted: Sequence[str]) -> dict[str, tuple[int, float, float, float]]:
    """Number of games, and mean result with its 95% interval, of recent generations by scripted player.

    Players that met too few are left out.

    Generations of the first half of the training do not count: their results would say less than the newest can do.
    ``scripted`` has the weakest player first, the result the strongest.
    """
    newest = max((n for name in games.players if (n := generation_number(name)) is not None), default=0)
    found = {name: results(games, name, newest / 2) for name in reversed(scripted)}
    interval = _score_interval if games.leads is None else _payoff_interval
    return {name: (len(each[0]), *interval(*each)) for name, each in found.items() if len(each[0]) >= GAMES_PER_RESULT}


def _score_interval(scores: Floats, pairs: Ints) -> tuple[float, float, float]:
    found = score_interval(scores, pairs)
    return found.score, found.low, found.high


def _payoff_interval(payoffs: Floats, pairs: Ints) -> tuple[float, float, float]:
    found = payoff_interval(payoffs, pairs)
    return found.mean, found.low, found.high
