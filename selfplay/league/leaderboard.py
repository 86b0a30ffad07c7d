"""The leaderboard: one row per player, and warnings about what limits the ratings, computed from a ledger.

``render`` formats it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np
from pydantic import BaseModel

from selfplay.errors import LeagueError
from selfplay.league.anchors import Origin, find_table
from selfplay.league.diagnosis import Cycle, Diagnosis, diagnose, widened
from selfplay.league.ratings import Difference, Ratings, rate, sequential_elo
from selfplay.league.records import ANCHOR, START, generation_number, person_name
from selfplay.league.rewards import BY_WINS
from selfplay.league.rows import Beaten, LeaderboardRow, beaten, make_rows
from selfplay.league.scale import Scale

if TYPE_CHECKING:
    from selfplay.league.games import GameTable

TOP: Final = 10
Method = Literal["batch", "sequential"]
METHODS: Final[tuple[Method, ...]] = ("batch", "sequential")
DRAWS_ALARM: Final = 0.2  # share of draws above which a warning is shown
MISFIT_ALARM: Final = 1e-3
SIDE_ALARM: Final = 3.0  # standard errors


class Fit(BaseModel, frozen=True, extra="forbid"):
    """Goodness of fit of the ratings, see ``diagnosis``."""

    misfit_p: float | None  # small: the ratings do not explain the results; None: too few games
    dispersion: float | None  # variance of the games relative to coin flips
    cycles: tuple[Cycle, ...]
    side: tuple[float, float, float] | None  # advantage of the first seat on the scale, with its 95% interval


class Leaderboard(BaseModel, frozen=True, extra="forbid"):
    """All players by rating, and how the ratings were computed."""

    rows: tuple[LeaderboardRow, ...]
    external: bool  # games of another program
    method: Method
    settings: str  # "<settings hash>/<sampling>" of the rated games; the file of external ones
    scale: Scale  # of the ratings
    anchor: str  # player at the origin of the scale, unless a reward is shared
    anchors: Origin | None  # table that pins the scripted players; None: only the anchor is pinned
    games: int
    draw_share: float
    finished: float | None  # share of games that were played to the end; None: not known
    newest: str | None
    beats: tuple[Beaten, ...]  # players that the newest generation beats, the strongest first
    progress: Difference | None  # newest minus start; None: one of them has no games
    left_out: dict[str, int]  # excluded games by reason
    fit: Fit
    warnings: tuple[str, ...]

    def stronger(self) -> tuple[LeaderboardRow, ...]:
        """Scripted players and shipped policies above all generations, except the anchor; none without a generation."""
        best = next((row.rank for row in self.rows if row.trained), 0)
        return tuple(row for row in self.rows if row.scripted and row.rank < best and row.policy != self.anchor)

    def top(self, count: int = TOP) -> tuple[LeaderboardRow, ...]:
        """The run first: without ``stronger`` players, and without scripted ones that met no generation.

        The first ``count`` of the rest, plus scripted players, people, the start and the newest generation.
        """
        always = {START, self.newest}
        stronger = {row.policy for row in self.stronger()}
        alone = not any(row.trained for row in self.rows)
        rows = [row for row in self.rows if row.policy not in stronger and (alone or row.met or not row.scripted)]
        return tuple(
            row for place, row in enumerate(rows) if place < count or row.scripted or row.person or row.policy in always
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
    settings: str | None = None,
    run: Path | None = None,
    anchor: str = ANCHOR,
) -> LeaderboardAnalysis:
    """Rate all players of a ledger.

    ``method`` is ``batch`` (one fit with intervals) or ``sequential`` (K-factor Elo, depends on the order; LeagueError
    where payoffs count, which it does not know).
    ``settings`` is the settings hash, or a prefix, of the games to rate; by default that of the newest game. The folder
    ``run`` may hold its own table of anchors. ``anchor`` is the player at 1500 in games of other programs.
    """
    if method not in METHODS:
        raise LeagueError(f"unknown rating method {method!r} (valid: {', '.join(METHODS)})")
    found = find_table(games.group_named(settings).partition("/")[0], run)
    chosen = games.comparable(settings, weights=None if found is None else found[0].policies)
    if games.external and anchor not in games.players:
        raise LeagueError(f"the anchor {anchor!r} played no game (played: {', '.join(sorted(games.players)[:TOP])})")
    pinned = {} if found is None else found[0].pinned(chosen.games)
    fitted = rate(chosen.games, players=pinned, anchors=pinned, anchor=anchor)
    diagnosis = diagnose(fitted, chosen.games)
    ratings = widened(fitted, diagnosis.misfit)
    rating = ratings.rating
    if method == "sequential":
        points = sequential_elo(chosen.games, anchor)
        rating = np.array([points.get(name, rating[i]) for i, name in enumerate(ratings.players)])
    finished = chosen.games.finished
    generations = [] if games.external else [name for name in ratings.players if generation_number(name) is not None]
    rows = make_rows(ratings, chosen.games, rating, intervals=method == "batch")
    draws = sum(row.draws for row in rows) / 2.0 / max(len(chosen.games), 1)
    board = Leaderboard(
        rows=rows,
        external=games.external,
        method=method,
        settings=chosen.settings,
        scale=ratings.scale,
        anchor=anchor,
        anchors=None if found is None else found[1],
        games=len(chosen.games),
        draw_share=draws,
        finished=None if finished is None else float(finished.sum()) / max(len(finished), 1),
        newest=generations[-1] if generations else None,
        beats=beaten(ratings, generations[-1]) if generations else (),
        progress=_progress(ratings, generations),
        left_out=dict(chosen.left_out),
        fit=_fit(diagnosis),
        warnings=_warnings(ratings, games, anchor, draws, diagnosis),
    )
    return LeaderboardAnalysis(board, ratings, diagnosis)


def _fit(diagnosis: Diagnosis) -> Fit:
    misfit, side = diagnosis.misfit, diagnosis.side
    return Fit(
        misfit_p=None if misfit is None else misfit.p,
        dispersion=None if misfit is None else misfit.dispersion,
        cycles=diagnosis.cycles,
        side=None if side is None else (side.rating, side.low, side.high),
    )


def _progress(ratings: Ratings, generations: list[str]) -> Difference | None:
    if len(generations) < 2 or generations[0] != START:
        return None
    if not all(ratings.games[ratings.index(name)] for name in (START, generations[-1])):
        return None
    return ratings.difference(generations[-1], START)


def _warnings(ratings: Ratings, games: GameTable, anchor: str, draws: float, diagnosis: Diagnosis) -> tuple[str, ...]:
    """All warnings. ``games`` is the whole ledger, ``draws`` the share of draws among the rated games."""
    by_wins = (f"{BY_WINS[0].upper()}{BY_WINS[1:]}.",) if games.by_wins else ()
    misfits = _misfits(diagnosis, games, ratings.scale)
    return (*_gaps(ratings, games, anchor), *_drawn(draws, games), *misfits, *by_wins)


def _gaps(ratings: Ratings, games: GameTable, anchor: str) -> list[str]:
    """Players that never met, and ignored rows."""
    found = []
    islands = [part for part in ratings.components()[1:] if ratings.games[ratings.index(part[0])] > 0]
    if islands:
        shown = [[person_name(name) or name for name in part[:6]] + ["..."] * (len(part) > 6) for part in islands]
        names = "; ".join(", ".join(part) for part in shown)
        found.append(
            f"Not connected: no chain of games links these players to {_main(ratings, anchor)!r}, so their ratings "
            f"cannot be compared with the rest of the table: {names}."
        )
    if not games.external and (chained := _chained(ratings)):
        found.append(
            f"Chained: {chained} generations only played their neighbours in age. Each may have learned to beat just "
            "the one before it, so such a ladder can climb without real progress; play old generations and bots too."
        )
    if games.torn:
        found.append("The last row of the ledger is incomplete (a crash?) and was ignored.")
    if games.duplicates:
        found.append(f"{games.duplicates} repeated rows of the ledger were ignored.")
    return found


def _main(ratings: Ratings, anchor: str) -> str:
    """A player that the others are compared with."""
    return anchor if ratings.pinned.any() else ratings.components()[0][0]


def _chained(ratings: Ratings) -> int:
    """Number of generations that met no player but neighbours in age and people, if most of at least four; else 0."""
    met = ratings.met * ~ratings.people
    played = [i for i, name in enumerate(ratings.players) if generation_number(name) is not None and met[i].any()]
    alone = 0
    for place, i in enumerate(played):
        neighbours = {*played[max(0, place - 1) : place], *played[place + 1 : place + 2]}
        alone += set(np.flatnonzero(met[i]).tolist()) <= neighbours
    return alone if len(played) >= 4 and 2 * alone > len(played) else 0


def _drawn(share: float, games: GameTable) -> list[str]:
    if share <= DRAWS_ALARM or games.finished is None:
        return []
    return [
        f"{share:.0%} of the games were draws, which say little about strength: raise --max-episode-frames, or train "
        "longer."
    ]


def _misfits(diagnosis: Diagnosis, games: GameTable, scale: Scale) -> list[str]:
    """Results that the ratings do not explain."""
    found = []
    if diagnosis.misfit is not None and diagnosis.misfit.p < MISFIT_ALARM:
        shown = ""
        if diagnosis.cycles:
            cycle = diagnosis.cycles[0]
            a, b, c = cycle.players
            scores = ", ".join(map(scale.result_text, cycle.scores))
            shown = f" For example {a} beats {b}, {b} beats {c} and {c} beats {a} ({scores})."
        found.append(
            f"One rating per player does not explain these results (misfit p = {diagnosis.misfit.p:.1g}): the "
            f"{'payoff' if scale.by_payoff else 'winner'} depends on the pairing.{shown} Use "
            f"{'' if scale.shared else 'the Nash weights and '}the results of single pairs, not the order."
        )
    # where seats take turns, or differ, one of them may well be the better one
    if games.finished is not None and diagnosis.side is not None and abs(diagnosis.side.z) > SIDE_ALARM:
        found.append(
            f"The first seat is worth {diagnosis.side.rating:{scale.gap_form}} {scale.unit} ({diagnosis.side.z:+.1f} "
            "standard errors). Every matchup is played from both seats, so the ratings hold; but the game or the "
            "policies treat the seats differently."
        )
    return found
