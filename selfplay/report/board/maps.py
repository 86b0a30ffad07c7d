"""Who scores how much against whom, and how far that is from what the ratings say, as two square maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from selfplay.league.leaderboard import Study

TOP: Final = 24
"""Players of a map, by rating, beside the scripted ones, the start and the newest generation."""
MOST: Final = 48
"""Players of a map at all: games of other programs have no generations, and everybody would be beside the top."""


def maps(study: Study) -> dict[str, Any]:
    """Players by rating and the pairs of them that met.

    ``pairs`` has a row ``[i, j, score, games, seeds, expected, z]`` for each pair, i above j in the table: shares of
    the points of i, and z the distance from what is expected in standard errors.
    """
    rows = study.board.top(TOP)[:MOST]
    place = {row.policy: i for i, row in enumerate(rows)}
    pairs = []
    for met in study.diagnosis.encounters:
        if met.a not in place or met.b not in place:
            continue
        i, j, score, expected, z = place[met.a], place[met.b], met.score, met.expected, met.z
        if i > j:
            i, j, score, expected, z = j, i, 1.0 - score, 1.0 - expected, -z
        pairs.append([i, j, round(score, 4), met.games, met.seeds, round(expected, 4), round(z, 2)])
    return {
        "players": [row.policy for row in rows],
        "left_out": len(study.board.rows) - len(rows),
        "pairs": sorted(pairs),
    }


def cycles(study: Study) -> list[str]:
    """The cycles that the games are sure of, a sentence each."""
    return [
        f"{a} beats {b} ({ab:.0%}), {b} beats {c} ({bc:.0%}), {c} beats {a} ({ca:.0%})"
        for (a, b, c), (ab, bc, ca) in ((cycle.players, cycle.scores) for cycle in study.board.fit.cycles)
    ]
