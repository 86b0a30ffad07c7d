"""Sequential Elo with K-factors: the rating that the predecessor of this project printed.

It depends on the order of the games: the same ledger shuffled moves a rating by tens of points, and it never settles.
Use it to compare with old tables; ``ratings`` is the one to believe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from selfplay.league.ratings import ANCHOR_ELO, expected_score
from selfplay.league.records import ANCHOR, ResultRule, scores

if TYPE_CHECKING:
    from selfplay.league.games import Games

_K: Final = ((30, 40.0), (100, 32.0))
_K_LATE: Final = 24.0


def k_factor(games_played: int) -> float:
    """How far one game moves a player: 40 points in its first 30 games, 32 up to 100, then 24."""
    return next((k for games, k in _K if games_played < games), _K_LATE)


def sequential_elo(games: Games, rule: ResultRule = "stocks_percent", anchor: str | None = ANCHOR) -> dict[str, float]:
    """Ratings after all games, in the order of the ledger; everybody starts at 1500 and the anchor stays there.

    Each player moves by its own K, so that points are not conserved. With ``anchor=None`` nobody is held fixed.
    """
    elo: dict[str, float] = {}
    played: dict[str, int] = {}
    points = scores(games.stocks, games.percents, rule).tolist()
    for (first, second), point in zip(games.seats.tolist(), points, strict=True):
        names = games.players[first], games.players[second]
        old = [elo.setdefault(name, ANCHOR_ELO) for name in names]
        surprise = point - expected_score(old[0], old[1])
        for name, rating, change in zip(names, old, (surprise, -surprise), strict=True):
            count = played.get(name, 0)
            played[name] = count + 1
            if name != anchor:
                elo[name] = rating + k_factor(count) * change
    return elo
