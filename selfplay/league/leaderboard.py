"""The leaderboard: one row a player, made from the columns of a ledger. How it looks is the business of ``render``."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np
from pydantic import BaseModel, ConfigDict

from selfplay.errors import LeagueError
from selfplay.league.anchors import Origin, find_table
from selfplay.league.diagnosis import Cycle, Diagnosis, diagnose
from selfplay.league.elo import sequential_elo
from selfplay.league.nash import nash_weights
from selfplay.league.ratings import Difference, Ratings, rate
from selfplay.league.records import ANCHOR, ResultRule, check_rule, generation_number, scores
from selfplay.league.schedule import START

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.league.games import Floats, Games, Ints

TOP: Final = 20
DRAWS_ALARM: Final = 0.2
"""Share of draws above which the table says so."""
MISFIT_ALARM: Final = 1e-3
SIDE_ALARM: Final = 3.0  # standard errors
Method = Literal["batch", "sequential"]
METHODS: Final[tuple[Method, ...]] = ("batch", "sequential")
Bound = Literal["both", "below", "above", "none"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Row(_Frozen):
    """One player. ``low`` and ``high`` are the ends of the 95% interval, None where there is none."""

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
    by_stocks: float | None  # share of its games that ended with unequal stocks
    scripted: bool
    fixed: bool  # pinned at a given value
    bound: Bound  # from which sides the games bound the rating: a perfect score leaves it open above
    above_next: float | None  # likelihood of being stronger than the row below; None in the last row
    nash: float  # weight in the mixture that nobody of the table beats


class Fit(_Frozen):
    """How well one number a player describes the results; see ``diagnosis``."""

    misfit_p: float | None  # small: ratings cannot explain the results; None: too few games to tell
    dispersion: float | None  # noise of games as a multiple of coins'
    cycles: tuple[Cycle, ...]
    side: tuple[float, float, float] | None  # worth of the first seat in Elo, with its 95% interval


class Leaderboard(_Frozen):
    """All players by rating, and what the ratings were made of."""

    rows: tuple[Row, ...]
    method: Method
    rule: ResultRule
    settings: str  # "<settings hash>/<sampling>" of the games that count
    anchor: str  # who stands at 1500
    anchors: Origin | None  # whose table pins the scripted players; None: only the anchor is pinned
    games: int
    draw_share: float
    decided_by_stocks: float | None  # share of games with unequal stocks; None: games of another program
    newest: str | None
    progress: Difference | None  # of the newest from the start; None: one of the two has no games
    left_out: dict[str, int]  # games that do not count, by reason
    fit: Fit
    warnings: tuple[str, ...]

    def top(self, count: int = TOP) -> tuple[Row, ...]:
        """The first ``count`` rows, the scripted players, the start and the newest generation."""
        always = {START, self.newest}
        return tuple(row for row in self.rows if row.rank <= count or row.scripted or row.policy in always)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """A leaderboard and what it was made from, for those who show more than a table."""

    board: Leaderboard
    ratings: Ratings
    diagnosis: Diagnosis


def build(
    games: Games,
    method: Method = "batch",
    rule: ResultRule = "stocks_percent",
    settings: str | None = None,
    run: Path | None = None,
    anchor: str = ANCHOR,
) -> Leaderboard:
    """The leaderboard of a ledger alone; arguments and errors are those of ``study``."""
    return study(games, method, rule, settings, run, anchor).board


def study(
    games: Games,
    method: Method = "batch",
    rule: ResultRule = "stocks_percent",
    settings: str | None = None,
    run: Path | None = None,
    anchor: str = ANCHOR,
) -> Study:
    """Rate everybody in a ledger.

    Args:
        games: all games of the ledger.
        method: ``batch`` (Bradley-Terry with intervals) or ``sequential`` (K-factor Elo, depends on the order).
        rule: who wins a game.
        settings: rate the games of these settings (a settings hash or the start of one), not the newest game's.
        run: folder that may have a table of anchors of its own.
        anchor: who stands at 1500; for games of other programs.

    Raises:
        LeagueError: an unknown method, rule or anchor, or settings under which nothing was played.
    """
    check_rule(rule)
    if method not in METHODS:
        raise LeagueError(f"unknown rating method {method!r} (valid: {', '.join(METHODS)})")
    chosen = games.comparable(settings)
    found = find_table(chosen.settings.partition("/")[0], run)
    if games.foreign and anchor not in games.players:
        raise LeagueError(f"the anchor {anchor!r} played no game (played: {', '.join(sorted(games.players)[:TOP])})")
    ratings = rate(chosen.games, rule, anchors=None if found is None else found[0].elo, anchor=anchor)
    elo = ratings.elo
    if method == "sequential":
        points = sequential_elo(chosen.games, rule, anchor)
        elo = np.array([points.get(name, elo[i]) for i, name in enumerate(ratings.players)])
    unequal = chosen.games.stocks[:, 0] != chosen.games.stocks[:, 1]
    generations = [] if games.foreign else [name for name in ratings.players if generation_number(name) is not None]
    outcomes = _outcomes(chosen.games, ratings, rule)
    draws = _share(float(outcomes[:, 2].sum()) / 2.0, len(chosen.games)) or 0.0
    diagnosis = diagnose(ratings, chosen.games, rule)
    board = Leaderboard(
        rows=_rows(ratings, elo, outcomes, method, foreign=games.foreign),
        method=method,
        rule=rule,
        settings=chosen.settings,
        anchor=anchor,
        anchors=None if found is None else found[1],
        games=len(chosen.games),
        draw_share=draws,
        decided_by_stocks=None if games.foreign else _share(float(unequal.sum()), len(chosen.games)) or 0.0,
        newest=generations[-1] if generations else None,
        progress=_progress(ratings, generations),
        left_out=dict(chosen.left_out),
        fit=_fit(diagnosis),
        warnings=(*_warnings(ratings, games, anchor), *_drawn(draws, games), *_alarms(diagnosis)),
    )
    return Study(board, ratings, diagnosis)


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


def _rows(ratings: Ratings, elo: Floats, outcomes: Ints, method: Method, *, foreign: bool) -> tuple[Row, ...]:
    order = np.argsort(-elo, kind="stable")
    played = np.array([i for i in order if ratings.games[i] > 0], dtype=np.int64)
    ranks, nash = _rank_ranges(ratings, played), nash_weights(ratings)
    rows = []
    for rank, i in enumerate(played.tolist(), 1):
        below = ratings.players[played[rank]] if rank < len(played) else None
        above_next = None if below is None else ratings.difference(ratings.players[i], below).superiority
        rows.append(_row(rank, i, ratings, elo, outcomes[i], method, ranks[rank - 1], above_next, float(nash[i])))
    if foreign:
        rows = [row.model_copy(update={"by_stocks": None, "scripted": False}) for row in rows]
    return tuple(rows)


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


def _row(
    rank: int,
    i: int,
    ratings: Ratings,
    elo: Floats,
    outcome: Ints,
    method: Method,
    ranks: tuple[int, int],
    above_next: float | None,
    nash: float,
) -> Row:
    name, has_interval = ratings.players[i], method == "batch"
    wins, losses, draws, unequal = (int(number) for number in outcome)
    games = wins + losses + draws
    return Row(
        rank=rank,
        ranks=ranks,
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
        fixed=bool(ratings.pinned[i]),
        bound=_bound(bool(ratings.floor[i]), bool(ratings.ceiling[i])),
        above_next=above_next,
        nash=nash,
    )


def _bound(from_below: bool, from_above: bool) -> Bound:
    if from_below and from_above:
        return "both"
    return "below" if from_below else "above" if from_above else "none"


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _chained(ratings: Ratings) -> int:
    """Generations that met nobody but their neighbours in age, if those are most of at least four; else 0."""
    played = [i for i, name in enumerate(ratings.players) if generation_number(name) is not None and ratings.games[i]]
    alone = 0
    for place, i in enumerate(played):
        neighbours = {*played[max(0, place - 1) : place], *played[place + 1 : place + 2]}
        alone += set(np.flatnonzero(ratings.met[i]).tolist()) <= neighbours
    return alone if len(played) >= 4 and 2 * alone > len(played) else 0


def _fit(diagnosis: Diagnosis) -> Fit:
    misfit, side = diagnosis.misfit, diagnosis.side
    return Fit(
        misfit_p=None if misfit is None else misfit.p,
        dispersion=None if misfit is None else misfit.dispersion,
        cycles=diagnosis.cycles,
        side=None if side is None else (side.elo, side.low, side.high),
    )


def _progress(ratings: Ratings, generations: list[str]) -> Difference | None:
    if len(generations) < 2 or generations[0] != START:
        return None
    if not all(ratings.games[ratings.index(name)] for name in (START, generations[-1])):
        return None
    return ratings.difference(generations[-1], START)


def _drawn(share: float, games: Games) -> list[str]:
    if share <= DRAWS_ALARM or games.foreign:
        return []
    return [
        f"{share:.0%} of the games were draws, which tell little about strength: policies that cannot finish each "
        "other need more time (--max-episode-frames) or more training."
    ]


def _alarms(diagnosis: Diagnosis) -> list[str]:
    """What the ratings do not explain, in words, each with what to do about it."""
    found = []
    if diagnosis.misfit is not None and diagnosis.misfit.p < MISFIT_ALARM:
        shown = ""
        if diagnosis.cycles:
            cycle = diagnosis.cycles[0]
            a, b, c = cycle.players
            scores = ", ".join(f"{score:.0%}" for score in cycle.scores)
            shown = f" For example {a} beats {b}, {b} beats {c} and {c} beats {a} ({scores})."
        found.append(
            f"One number a player does not explain these results (misfit p = {diagnosis.misfit.p:.1g}): who beats whom "
            f"depends on styles.{shown} Read the weights of the Nash mixture and single pairs, not the order."
        )
    if diagnosis.side is not None and abs(diagnosis.side.z) > SIDE_ALARM:
        found.append(
            f"The first seat is worth {diagnosis.side.elo:+.0f} Elo ({diagnosis.side.z:+.1f} standard errors). Every "
            "fixture is played from both seats, so the ratings hold; but the game or the policies treat the seats "
            "differently."
        )
    return found


def _warnings(ratings: Ratings, games: Games, anchor: str) -> list[str]:
    """What a reader must know before believing the table, in words."""
    found = []
    islands = [part for part in ratings.components()[1:] if ratings.games[ratings.index(part[0])] > 0]
    if islands:
        names = "; ".join(", ".join(part[:6]) + (", ..." if len(part) > 6 else "") for part in islands)
        found.append(
            f"Not connected: these never met {anchor!r}, not even through others, and their Elo says nothing about "
            f"the rest of the table: {names}."
        )
    if not games.foreign and (chained := _chained(ratings)):
        found.append(
            f"Chained: {chained} generations only met the ones next to them. Where each beats the one before it by "
            "knowing how, such a ladder climbs though nobody gets stronger; let them meet old generations and bots."
        )
    if games.torn:
        found.append("The last row of the ledger is incomplete (a crash?) and was ignored.")
    if games.duplicates:
        found.append(f"{games.duplicates} repeated rows of the ledger were ignored.")
    return found
