"""The leaderboard: one row a player, made from the columns of a ledger. How it looks is the business of ``render``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from selfplay.errors import LeagueError
from selfplay.league.elo import sequential_elo
from selfplay.league.ratings import Ratings, rate
from selfplay.league.records import ANCHOR, ResultRule, check_rule, generation_number, scores
from selfplay.league.schedule import START

if TYPE_CHECKING:
    from selfplay.league.games import Floats, Games, Ints

TOP: Final = 20
Method = Literal["batch", "sequential"]
METHODS: Final[tuple[Method, ...]] = ("batch", "sequential")
Bound = Literal["both", "below", "above", "none"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Row(_Frozen):
    """One player. ``low`` and ``high`` are the ends of the 95% interval, None where there is none."""

    rank: int
    policy: str
    elo: float
    low: float | None
    high: float | None
    wins: int
    losses: int
    draws: int
    games: int
    by_stocks: float | None  # share of its games that ended with unequal stocks
    scripted: bool
    fixed: bool  # the anchor
    bound: Bound  # from which sides the games bound the rating: a perfect score leaves it open above


class Leaderboard(_Frozen):
    """All players by rating, and what the ratings were made of."""

    rows: tuple[Row, ...]
    method: Method
    rule: ResultRule
    settings: str  # "<settings hash>/<sampling>" of the games that count
    games: int
    draw_share: float
    decided_by_stocks: float
    newest: str | None
    left_out: dict[str, int]  # games that do not count, by reason
    warnings: tuple[str, ...]

    def top(self, count: int = TOP) -> tuple[Row, ...]:
        """The first ``count`` rows, the scripted players, the start and the newest generation."""
        always = {START, self.newest}
        return tuple(row for row in self.rows if row.rank <= count or row.scripted or row.policy in always)


def build(
    games: Games,
    method: Method = "batch",
    rule: ResultRule = "stocks_percent",
    settings: str | None = None,
) -> Leaderboard:
    """Rate everybody in a ledger.

    Args:
        games: all games of the ledger.
        method: ``batch`` (Bradley-Terry with intervals) or ``sequential`` (K-factor Elo, depends on the order).
        rule: who wins a game.
        settings: rate the games of these settings (a settings hash or the start of one), not the newest game's.

    Raises:
        LeagueError: an unknown method or rule, or settings under which nothing was played.
    """
    check_rule(rule)
    if method not in METHODS:
        raise LeagueError(f"unknown rating method {method!r} (valid: {', '.join(METHODS)})")
    chosen = games.comparable(settings)
    ratings = rate(chosen.games, rule)
    elo = ratings.elo
    if method == "sequential":
        points = sequential_elo(chosen.games, rule)
        elo = np.array([points.get(name, elo[i]) for i, name in enumerate(ratings.players)])
    unequal = chosen.games.stocks[:, 0] != chosen.games.stocks[:, 1]
    generations = [name for name in ratings.players if generation_number(name) is not None]
    outcomes = _outcomes(chosen.games, ratings, rule)
    return Leaderboard(
        rows=_rows(ratings, elo, outcomes, method),
        method=method,
        rule=rule,
        settings=chosen.settings,
        games=len(chosen.games),
        draw_share=_share(float(outcomes[:, 2].sum()) / 2.0, len(chosen.games)) or 0.0,
        decided_by_stocks=_share(float(unequal.sum()), len(chosen.games)) or 0.0,
        newest=generations[-1] if generations else None,
        left_out=dict(chosen.left_out),
        warnings=tuple(_warnings(ratings, games)),
    )


def _outcomes(games: Games, ratings: Ratings, rule: ResultRule) -> Ints:
    """[n, 4] wins, losses, draws and games with unequal stocks of each player."""
    position = {name: i for i, name in enumerate(ratings.players)}
    seats = np.array([position.get(name, -1) for name in games.players], dtype=np.int64)[games.seats]
    points = scores(games.stocks, games.percents, rule)
    unequal = games.stocks[:, 0] != games.stocks[:, 1]
    counts = np.zeros((len(ratings.players), 4), dtype=np.int64)
    for seat, mine in ((0, points), (1, 1.0 - points)):
        for column, hits in enumerate((mine == 1.0, mine == 0.0, mine == 0.5, unequal)):
            counts[:, column] += np.bincount(seats[hits, seat], minlength=len(counts))
    return counts


def _rows(ratings: Ratings, elo: Floats, outcomes: Ints, method: Method) -> tuple[Row, ...]:
    order = np.argsort(-elo, kind="stable")
    played = [int(i) for i in order if ratings.games[i] > 0]
    return tuple(_row(rank, i, ratings, elo, outcomes[i], method) for rank, i in enumerate(played, 1))


def _row(rank: int, i: int, ratings: Ratings, elo: Floats, outcome: Ints, method: Method) -> Row:
    name, has_interval = ratings.players[i], method == "batch"
    wins, losses, draws, unequal = (int(number) for number in outcome)
    games = wins + losses + draws
    return Row(
        rank=rank,
        policy=name,
        elo=float(elo[i]),
        low=float(ratings.low[i]) if has_interval else None,
        high=float(ratings.high[i]) if has_interval else None,
        wins=wins,
        losses=losses,
        draws=draws,
        games=games,
        by_stocks=_share(unequal, games),
        scripted=generation_number(name) is None,
        fixed=name == ANCHOR,
        bound=_bound(bool(ratings.floor[i]), bool(ratings.ceiling[i])),
    )


def _bound(from_below: bool, from_above: bool) -> Bound:
    if from_below and from_above:
        return "both"
    return "below" if from_below else "above" if from_above else "none"


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _warnings(ratings: Ratings, games: Games) -> list[str]:
    """What a reader must know before believing the table, in words."""
    found = []
    islands = [part for part in ratings.components()[1:] if ratings.games[ratings.index(part[0])] > 0]
    if islands:
        names = "; ".join(", ".join(part[:6]) + (", ..." if len(part) > 6 else "") for part in islands)
        found.append(
            f"Not connected: these never met {ANCHOR!r}, not even through others, and their Elo says nothing about "
            f"the rest of the table: {names}."
        )
    if games.torn:
        found.append("The last row of the ledger is incomplete (a crash?) and was ignored.")
    if games.duplicates:
        found.append(f"{games.duplicates} repeated rows of the ledger were ignored.")
    return found
