"""The rows of a leaderboard: one a player, by rating."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from selfplay.league.nash import nash_weights
from selfplay.league.partners import Cell, reward_cells
from selfplay.league.records import ResultRule, generation_number, scores

if TYPE_CHECKING:
    from selfplay.league.games import Floats, Games, Ints
    from selfplay.league.ratings import Ratings

Bound = Literal["both", "below", "above", "none"]


class Row(BaseModel):
    """One player. ``low`` and ``high`` are the ends of the 95% interval, None where there is none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int
    ranks: tuple[int, int]  # the best and the worst that the games leave possible, for all players at once (95%)
    policy: str
    elo: float
    low: float | None
    high: float | None
    wins: int
    losses: int
    draws: int
    games: int
    by_stocks: float | None  # share of its games that ended with unequal stocks; None: no fights
    scripted: bool
    fixed: bool  # pinned at a given value
    bound: Bound  # from which sides the games bound the rating: a perfect score leaves it open above
    above_next: float | None  # likelihood of being stronger than the row below; None in the last row
    nash: float  # weight in the mixture that nobody of the table beats
    rewards: tuple[Cell, ...] = ()  # in games of words: what it was paid, by partner

    def reward_with(self, partner: str) -> Cell | None:
        """With one partner; None: they have not played together."""
        return next((cell for cell in self.rewards if cell.partner == partner), None)


def make_rows(ratings: Ratings, games: Games, rule: ResultRule, elo: Floats, *, intervals: bool) -> tuple[Row, ...]:
    """Everybody who played.

    Args:
        ratings: of all players.
        games: that count.
        rule: who wins a game.
        elo: by which the rows are ordered, in the order of the players of ``ratings``.
        intervals: whether ``elo`` is what the intervals are of.
    """
    order = np.argsort(-elo, kind="stable")
    played = np.array([i for i in order if ratings.games[i] > 0], dtype=np.int64)
    ranks, nash, outcomes = _rank_ranges(ratings, played), nash_weights(ratings), _outcomes(games, ratings, rule)
    rewards = reward_cells(games)
    rows = []
    for place, i in enumerate(played.tolist()):
        name = ratings.players[i]
        below = ratings.players[played[place + 1]] if place + 1 < len(played) else None
        wins, losses, draws, unequal = (int(number) for number in outcomes[i])
        rows.append(
            Row(
                rank=place + 1,
                ranks=ranks[place],
                policy=name,
                elo=float(elo[i]),
                low=float(ratings.low[i]) if intervals else None,
                high=float(ratings.high[i]) if intervals else None,
                wins=wins,
                losses=losses,
                draws=draws,
                games=wins + losses + draws,
                by_stocks=unequal / (wins + losses + draws) if games.has_counters else None,
                scripted=not games.foreign and generation_number(name) is None,
                fixed=bool(ratings.pinned[i]),
                bound=_bound(bool(ratings.floor[i]), bool(ratings.ceiling[i])),
                above_next=None if below is None else ratings.difference(name, below).superiority,
                nash=float(nash[i]),
                rewards=rewards.get(name, ()),
            )
        )
    return tuple(rows)


def _outcomes(games: Games, ratings: Ratings, rule: ResultRule) -> Ints:
    """[n, 4] wins, losses, draws and games with unequal stocks of each player."""
    seats = games.seats_among(ratings.players)
    points = scores(games.stocks, games.percents, rule)
    unequal = games.stocks[:, 0] != games.stocks[:, 1]
    counts = np.zeros((len(ratings.players), 4), dtype=np.int64)
    for seat, mine in ((0, points), (1, 1.0 - points)):
        for column, hits in enumerate((mine == 1.0, mine == 0.0, mine == 0.5, unequal)):
            counts[:, column] += np.bincount(seats[hits, seat], minlength=len(counts))
    return counts


def _rank_ranges(ratings: Ratings, played: Ints) -> list[tuple[int, int]]:
    """For each of ``played`` the ranks that no clear difference excludes.

    Clear means clear among all pairs at once (Bonferroni), so that of ten equal players nobody is called better in 95%
    of all cases.
    """
    if len(played) < 2:
        return [(1, 1)] * len(played)
    gaps, errors = ratings.gaps()
    z = gaps[np.ix_(played, played)] / np.maximum(errors[np.ix_(played, played)], 1e-9)
    clear = NormalDist().inv_cdf(1.0 - 0.025 / (len(played) * (len(played) - 1) / 2))
    better, worse = (z < -clear).sum(axis=1), (z > clear).sum(axis=1)
    return [(1 + int(b), len(played) - int(w)) for b, w in zip(better, worse, strict=True)]


def _bound(from_below: bool, from_above: bool) -> Bound:
    if from_below and from_above:
        return "both"
    return "below" if from_below else "above" if from_above else "none"
