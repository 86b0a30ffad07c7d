"""Data of two square maps: scores of all pairs of players, and their deviation from the ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from selfplay.league.leaderboard import LeaderboardAnalysis

TOP: Final = 24  # top players on a map; scripted players, people, the start and the newest generation are added
MOST: Final = 48  # maximum number of players on a map, since in external games all players count as scripted


def maps(study: LeaderboardAnalysis) -> dict[str, Any]:
    """Players by rating, and all pairs with games.

    ``pairs`` has a row ``[i, j, score, games, seeds, expected, z]`` for each pair, with i above j in the table. Scores
    are of i; z is the deviation from the expected score in standard errors.
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
        "players": [row.name for row in rows],
        "left_out": len(study.board.rows) - len(rows),
        "pairs": sorted(pairs),
    }


def cycles(study: LeaderboardAnalysis) -> list[str]:
    return [
        f"{a} beats {b} ({ab:.0%}), {b} beats {c} ({bc:.0%}), {c} beats {a} ({ca:.0%})"
        for (a, b, c), (ab, bc, ca) in ((cycle.players, cycle.scores) for cycle in study.board.fit.cycles)
    ]
