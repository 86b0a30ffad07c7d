"""Warnings below a leaderboard: what limits the ratings, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.league.records import generation_number, person_name

if TYPE_CHECKING:
    from selfplay.league.diagnosis import Diagnosis
    from selfplay.league.games import GameTable
    from selfplay.league.ratings import Ratings

DRAWS_ALARM: Final = 0.2  # share of draws above which a warning is shown
MISFIT_ALARM: Final = 1e-3
SIDE_ALARM: Final = 3.0  # standard errors


def warnings(ratings: Ratings, games: GameTable, anchor: str, draws: float, diagnosis: Diagnosis) -> tuple[str, ...]:
    """All warnings. ``games`` is the whole ledger, ``draws`` the share of draws among the rated games."""
    return (*_gaps(ratings, games, anchor), *_drawn(draws, games), *_misfits(diagnosis, games))


def _gaps(ratings: Ratings, games: GameTable, anchor: str) -> list[str]:
    """Players that never met, and ignored rows."""
    found = []
    islands = [part for part in ratings.components()[1:] if ratings.games[ratings.index(part[0])] > 0]
    if islands:
        shown = [[person_name(name) or name for name in part[:6]] + ["..."] * (len(part) > 6) for part in islands]
        names = "; ".join(", ".join(part) for part in shown)
        found.append(
            f"Not connected: no chain of games links these players to {anchor!r}, so their Elo cannot be compared with "
            f"the rest of the table: {names}."
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


def _chained(ratings: Ratings) -> int:
    """Number of generations that only played their neighbours in age, if most of at least four did; else 0.

    Their games with people do not count.
    """
    met = ratings.met * ~ratings.people
    played = [i for i, name in enumerate(ratings.players) if generation_number(name) is not None and met[i].any()]
    alone = 0
    for place, i in enumerate(played):
        neighbours = {*played[max(0, place - 1) : place], *played[place + 1 : place + 2]}
        alone += set(np.flatnonzero(met[i]).tolist()) <= neighbours
    return alone if len(played) >= 4 and 2 * alone > len(played) else 0


def _drawn(share: float, games: GameTable) -> list[str]:
    if share <= DRAWS_ALARM or not games.has_counters:
        return []
    return [
        f"{share:.0%} of the games were draws, which say little about strength: raise --max-episode-frames, or train "
        "longer."
    ]


def _misfits(diagnosis: Diagnosis, games: GameTable) -> list[str]:
    """Results that the ratings do not explain."""
    found = []
    if diagnosis.misfit is not None and diagnosis.misfit.p < MISFIT_ALARM:
        shown = ""
        if diagnosis.cycles:
            cycle = diagnosis.cycles[0]
            a, b, c = cycle.players
            scores = ", ".join(f"{score:.0%}" for score in cycle.scores)
            shown = f" For example {a} beats {b}, {b} beats {c} and {c} beats {a} ({scores})."
        found.append(
            f"One rating per player does not explain these results (misfit p = {diagnosis.misfit.p:.1g}): the winner "
            f"depends on the pairing.{shown} Use the Nash weights and the results of single pairs, not the order."
        )
    # where seats take turns, or differ, one of them may well be the better one
    if games.has_counters and diagnosis.side is not None and abs(diagnosis.side.z) > SIDE_ALARM:
        found.append(
            f"The first seat is worth {diagnosis.side.elo:+.0f} Elo ({diagnosis.side.z:+.1f} standard errors). Every "
            "matchup is played from both seats, so the ratings hold; but the game or the policies treat the seats "
            "differently."
        )
    return found
