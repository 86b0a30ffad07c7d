"""The rows of a leaderboard: one per player, by rating."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel

from selfplay.games.objective import EQUAL
from selfplay.league.nash import nash_weights
from selfplay.league.payoffs import payoff_interval
from selfplay.league.ratings import Bound, bounded, open_ends
from selfplay.league.records import generation_number, ladder_key, person_name
from selfplay.league.statistics import mean_error

if TYPE_CHECKING:
    from selfplay.league.games import Floats, GameTable, Ints
    from selfplay.league.ratings import Ratings
    from selfplay.league.scale import Ends, Scale


class PartnerReward(BaseModel, frozen=True, extra="forbid"):
    """Mean reward of a player with one partner (possibly itself) or against one opponent."""

    partner: str
    reward: float  # mean
    interval: float | None  # half width at 95%, clustered by state; None: one state, or all alike, which tell no error
    games: int


class Beaten(BaseModel, frozen=True, extra="forbid"):
    """A player that a generation beats, see ``Ratings.beaten_by``."""

    player: str
    games: int  # of the two
    score: float | None  # of the generation in them; None without games
    payoff: float | None = None  # mean, see ``GameTable.leads``; None if wins count

    def text(self, scale: Scale) -> str:
        """The player and the result of the games."""
        if self.score is None:
            return f"{self.player} (by rating)"
        counted = f"{self.games} game{'s' * (self.games != 1)}"
        if self.payoff is None:
            return f"{self.player} ({self.score:.0%} of {counted})"
        return f"{self.player} ({scale.result_text(self.payoff)} {scale.unit} in {counted})"


class LeaderboardRow(BaseModel, frozen=True, extra="forbid"):
    """One player. ``low`` and ``high`` are the ends of the 95% interval, None without one."""

    rank: int
    ranks: tuple[int, int]  # best and worst possible rank, simultaneously for all players (95%)
    policy: str
    rating: float
    low: float | None
    high: float | None
    wins: int
    losses: int
    draws: int
    games: int
    finished: float | None  # share of its games that were played to the end; None: not known
    scripted: bool
    person: bool
    met: bool  # played a generation
    fixed: bool  # pinned at a given value
    bound: Bound  # sides on which the games bound the rating; a perfect score has no upper bound
    above_next: float | None  # probability of being stronger than the row below; None in the last row
    nash: float | None  # weight in the Nash mixture; None for a shared reward, since no player beats another
    payoff: float | None = None  # mean of its games; None if wins count
    payoff_error: float | None = None  # half width of its 95% interval, clustered by seed
    rewards: tuple[PartnerReward, ...] = ()  # means by partner, in games with partners

    @property
    def name(self) -> str:
        """The player's name as tables show it: a person's without the start of the id."""
        return (self.person and person_name(self.policy)) or self.policy

    @property
    def trained(self) -> bool:
        """Whether it is a generation, or a player of another program."""
        return not (self.scripted or self.person)

    @property
    def ends(self) -> Ends | None:
        """Ends of the interval, open where the games give no bound; None without an interval."""
        return None if self.low is None or self.high is None else open_ends(self.low, self.high, self.bound)

    def reward_with(self, partner: str) -> PartnerReward | None:
        """Reward with one partner; None if they have not played."""
        return next((cell for cell in self.rewards if cell.partner == partner), None)


def make_rows(ratings: Ratings, games: GameTable, rating: Floats, *, intervals: bool) -> tuple[LeaderboardRow, ...]:
    """Rows of all players with games and of all pinned players; none for a ledger without games.

    They are sorted by ``rating`` [n], to which the intervals of ``ratings`` apply or not.
    """
    order = np.argsort(-rating, kind="stable")
    generations = np.array([generation_number(name) is not None for name in ratings.players], dtype=np.bool_)
    met = ratings.met[:, generations].sum(axis=1) > 0
    listed = ratings.games > 0
    if listed.any():
        listed |= ratings.pinned
    shown = order[listed[order]]
    ranks, nash, outcomes = _rank_ranges(ratings, shown), nash_weights(ratings), _outcomes(games, ratings)
    rewards, payoffs = reward_cells(games), _payoffs(games)
    rows = []
    for place, i in enumerate(shown.tolist()):
        name = ratings.players[i]
        below = ratings.players[shown[place + 1]] if place + 1 < len(shown) else None
        wins, losses, draws, finished = (int(number) for number in outcomes[i])
        played = wins + losses + draws
        rows.append(
            LeaderboardRow(
                rank=place + 1,
                ranks=ranks[place],
                policy=name,
                rating=float(rating[i]),
                low=float(ratings.low[i]) if intervals else None,
                high=float(ratings.high[i]) if intervals else None,
                wins=wins,
                losses=losses,
                draws=draws,
                games=played,
                finished=None if games.finished is None or not played else finished / played,
                scripted=not games.external and not ratings.people[i] and not generations[i],
                person=bool(ratings.people[i]),
                met=bool(met[i]),
                fixed=bool(ratings.pinned[i]),
                bound=bounded(bool(ratings.floor[i]), bool(ratings.ceiling[i])),
                above_next=None if below is None else ratings.difference(name, below).superiority,
                nash=None if ratings.scale.shared else float(nash[i]),
                payoff=payoffs.get(name, (None, None))[0],
                payoff_error=payoffs.get(name, (None, None))[1],
                rewards=rewards.get(name, ()),
            )
        )
    return tuple(rows)


def beaten(ratings: Ratings, generation: str) -> tuple[Beaten, ...]:
    """Players that a generation beats, the strongest first."""
    me, found = ratings.index(generation), []
    for name in ratings.beaten_by(generation):
        other = ratings.index(name)
        games = int(ratings.met[me, other])
        score = float(ratings.won[me, other]) / games if games else None
        paid = float(ratings.scale.result(ratings.points[me, other] / games)) if games else None
        found.append(Beaten(player=name, games=games, score=score, payoff=paid if ratings.scale.by_payoff else None))
    return tuple(found)


def _payoffs(games: GameTable) -> dict[str, tuple[float, float]]:
    """Mean payoff of each player with games, and half its 95% interval; empty where wins count."""
    if games.leads is None or games.payoffs is None:
        return {}
    found = {}
    for player in np.unique(games.seats).tolist():
        rows, seat = np.nonzero(games.seats == player)
        mine = games.payoffs[rows, seat]
        own = payoff_interval(mine, games.pairs[rows])  # a few equal payoffs have an error, too
        found[games.players[player]] = own.mean, own.high - own.mean
    return found


def _outcomes(games: GameTable, ratings: Ratings) -> Ints:
    """[n, 4] wins, losses, draws and finished games of each player."""
    seats = games.seats_among(ratings.players)
    finished = np.zeros(len(games), dtype=np.bool_) if games.finished is None else games.finished
    counts = np.zeros((len(ratings.players), 4), dtype=np.int64)
    for seat, mine in ((0, games.scores), (1, 1.0 - games.scores)):
        for column, hits in enumerate((mine > 0.5, mine < 0.5, mine == 0.5, finished)):
            counts[:, column] += np.bincount(seats[hits, seat], minlength=len(counts))
    return counts


def _rank_ranges(ratings: Ratings, shown: Ints) -> list[tuple[int, int]]:
    """Best and worst rank of each of ``shown`` that no difference excludes, at 95% for all pairs (Bonferroni)."""
    if len(shown) < 2:
        return [(1, 1)] * len(shown)
    gaps, errors = ratings.gaps()
    z = gaps[np.ix_(shown, shown)] / np.maximum(errors[np.ix_(shown, shown)], 1e-9)
    clear = NormalDist().inv_cdf(1.0 - 0.025 / (len(shown) * (len(shown) - 1) / 2))
    better, worse = (z < -clear).sum(axis=1), (z > clear).sum(axis=1)
    return [(1 + int(b), len(shown) - int(w)) for b, w in zip(better, worse, strict=True)]


def reward_cells(games: GameTable) -> dict[str, tuple[PartnerReward, ...]]:
    """Mean rewards by player and partner: the player itself first, then the others by name and age.

    Games with a replaced version of the partner are excluded.
    """
    paid = games.paid
    if paid is None:
        return {}
    seats, direct = games.seats, paid.partners < 0
    latest = dict(zip(games.seats.ravel().tolist(), games.versions.ravel().tolist(), strict=True))
    stale = [
        not alone and latest.get(partner, version) != version
        for partner, version, alone in zip(paid.partners.tolist(), paid.versions.tolist(), direct.tolist(), strict=True)
    ]
    keep = ~np.array(stale, dtype=np.bool_)
    found: dict[str, dict[str, PartnerReward]] = {}
    for mine, player in enumerate(games.players):
        rewards, partners, states = [], [], []
        for side in range(2):
            of_mine = keep & (seats[:, side] == mine)
            rewards.append(paid.rewards[of_mine, side])
            partners.append(np.where(direct, seats[:, 1 - side], paid.partners)[of_mine])
            states.append(games.pairs[of_mine])
        found[player] = _cells(games.players, np.concatenate(rewards), np.concatenate(partners), np.concatenate(states))
    return {
        player: tuple(sorted(cells.values(), key=lambda cell: (cell.partner != player, ladder_key(cell.partner))))
        for player, cells in found.items()
        if cells
    }


def _cells(players: tuple[str, ...], rewards: Floats, partners: Ints, states: Ints) -> dict[str, PartnerReward]:
    cells = {}
    for partner in np.unique(partners).tolist():
        chosen = partners == partner
        paid, mean = rewards[chosen], float(rewards[chosen].mean())
        error = mean_error(paid, states[chosen])
        interval = error if error > EQUAL else None
        cells[players[partner]] = PartnerReward(
            partner=players[partner], reward=mean, interval=interval, games=len(paid)
        )
    return cells
