"""The leaderboard: one row per player, computed from a ledger. ``render`` formats it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np
from pydantic import BaseModel

from selfplay.errors import LeagueError
from selfplay.league.alarms import warnings
from selfplay.league.anchors import Origin, find_table
from selfplay.league.diagnosis import Cycle, Diagnosis, diagnose, widened
from selfplay.league.ratings import Difference, Ratings, rate, sequential_elo
from selfplay.league.records import ANCHOR, START, ResultRule, check_rule, generation_number
from selfplay.league.rows import LeaderboardRow, make_rows

if TYPE_CHECKING:
    from selfplay.league.games import GameTable

TOP: Final = 10
Method = Literal["batch", "sequential"]
Kind = Literal["fights", "words", "foreign"]
REWARDS: Final = "words"
"""Kind of a leaderboard of games with rewards; summaries of runs have this value."""
METHODS: Final[tuple[Method, ...]] = ("batch", "sequential")


class Fit(BaseModel, frozen=True, extra="forbid"):
    """Goodness of fit of the ratings, see ``diagnosis``."""

    misfit_p: float | None  # small: the ratings do not explain the results; None: too few games
    dispersion: float | None  # variance of the games relative to coin flips
    cycles: tuple[Cycle, ...]
    side: tuple[float, float, float] | None  # advantage of the first seat in Elo, with its 95% interval


class Leaderboard(BaseModel, frozen=True, extra="forbid"):
    """All players by rating, and how the ratings were computed."""

    rows: tuple[LeaderboardRow, ...]
    kind: Kind  # fights, games with rewards (``REWARDS``), or games of another program ("foreign")
    method: Method
    rule: ResultRule
    settings: str  # "<settings hash>/<sampling>" of the rated games
    anchor: str  # player at 1500
    anchors: Origin | None  # table that pins the scripted players; None: only the anchor is pinned
    games: int
    draw_share: float
    finished: float | None  # share of games that ended because a player was out of stocks; None: not fights
    newest: str | None
    progress: Difference | None  # newest minus start; None: one of them has no games
    left_out: dict[str, int]  # excluded games by reason
    fit: Fit
    warnings: tuple[str, ...]

    @property
    def has_rewards(self) -> bool:
        return self.kind == REWARDS

    def top(self, count: int = TOP) -> tuple[LeaderboardRow, ...]:
        """The first ``count`` rows, plus scripted players, people, the start and the newest generation."""
        always = {START, self.newest}
        return tuple(
            row for row in self.rows if row.rank <= count or row.scripted or row.person or row.policy in always
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class LeaderboardAnalysis:
    """A leaderboard with its intermediate results."""

    board: Leaderboard
    ratings: Ratings
    diagnosis: Diagnosis


def build(games: GameTable, run: Path | None = None) -> Leaderboard:
    """The leaderboard of a ledger alone; arguments and errors are as in ``analyse``."""
    return analyse(games, run=run).board


def analyse(
    games: GameTable,
    method: Method = "batch",
    rule: ResultRule = "stocks_percent",
    settings: str | None = None,
    run: Path | None = None,
    anchor: str = ANCHOR,
) -> LeaderboardAnalysis:
    """Rate all players of a ledger.

    Args:
        games: all games of the ledger.
        method: ``batch`` (Bradley-Terry with intervals) or ``sequential`` (K-factor Elo, depends on the order).
        rule: decides the winner of a game.
        settings: settings hash, or a prefix, of the games to rate; default: that of the newest game.
        run: folder that may hold its own table of anchors.
        anchor: player at 1500; for games of other programs.

    Raises:
        LeagueError: unknown method, rule or anchor, or no games under ``settings``.
    """
    check_rule(rule)
    if method not in METHODS:
        raise LeagueError(f"unknown rating method {method!r} (valid: {', '.join(METHODS)})")
    found = find_table(games.group_named(settings).partition("/")[0], run)
    chosen = games.comparable(settings, weights=None if found is None else found[0].policies)
    if games.external and anchor not in games.players:
        raise LeagueError(f"the anchor {anchor!r} played no game (played: {', '.join(sorted(games.players)[:TOP])})")
    pinned = {} if found is None else found[0].elo
    fitted = rate(chosen.games, rule, players=pinned, anchors=pinned, anchor=anchor)
    diagnosis = diagnose(fitted, chosen.games, rule)
    ratings = widened(fitted, diagnosis.misfit)
    elo = ratings.elo
    if method == "sequential":
        points = sequential_elo(chosen.games, rule, anchor)
        elo = np.array([points.get(name, elo[i]) for i, name in enumerate(ratings.players)])
    finished = chosen.games.finished
    generations = [] if games.external else [name for name in ratings.players if generation_number(name) is not None]
    rows = make_rows(ratings, chosen.games, rule, elo, intervals=method == "batch")
    draws = sum(row.draws for row in rows) / 2.0 / max(len(chosen.games), 1)
    board = Leaderboard(
        rows=rows,
        kind="foreign" if games.external else "fights" if games.paid is None else REWARDS,
        method=method,
        rule=rule,
        settings=chosen.settings,
        anchor=anchor,
        anchors=None if found is None else found[1],
        games=len(chosen.games),
        draw_share=draws,
        finished=None if finished is None else float(finished.sum()) / max(len(finished), 1),
        newest=generations[-1] if generations else None,
        progress=_progress(ratings, generations),
        left_out=dict(chosen.left_out),
        fit=_fit(diagnosis),
        warnings=warnings(ratings, games, anchor, draws, diagnosis),
    )
    return LeaderboardAnalysis(board, ratings, diagnosis)


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
