"""Results of recent generations against pinned players, scripted ones and policies, and the games that they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.league.records import generation_number, scores
from selfplay.league.schedule import Matchup, repeat
from selfplay.league.statistics import ScoreInterval, score_interval

if TYPE_CHECKING:
    from selfplay.league.games import Floats, GameTable, Ints

GAMES_PER_RESULT: Final = 16  # games of a result that is shown
STRONGEST: Final = 2  # scripted players that the last generation itself plays
MIN_SCORE: Final = 0.1
"""Score of recent generations below which the last generation does not play a pinned player: the games tell little."""


def results(games: GameTable, scripted: str, since: float = 0) -> tuple[Floats, Ints]:
    """Scores [K] of generations against a scripted player, and the pair label [K] of each game.

    The newest generations count, as few as have ``GAMES_PER_RESULT`` games together.

    Args:
        games: comparable games, see ``GameTable.comparable``.
        scripted: the scripted player.
        since: number of the oldest generation that counts.
    """
    if scripted not in games.players:
        return np.zeros(0), np.zeros(0, np.int64)
    ages = np.array([-1 if (n := generation_number(name)) is None else n for name in games.players], np.int64)
    theirs = games.seats == games.players.index(scripted)
    age = np.where(theirs[:, 0], ages[games.seats[:, 1]], ages[games.seats[:, 0]])
    counts = theirs.any(axis=1) & (age >= since)
    if counts.sum() > GAMES_PER_RESULT:
        counts &= age >= np.sort(age[counts])[-GAMES_PER_RESULT]
    first = scores(games.stocks, games.percents)
    return np.where(theirs[:, 0], 1.0 - first, first)[counts], games.pairs[counts]


def scores_against(games: GameTable, scripted: Sequence[str]) -> dict[str, tuple[int, ScoreInterval]]:
    """Number of games and score of the newest generations by scripted player, of those met often enough.

    Args:
        games: comparable games.
        scripted: pinned players, the weakest first; the result has the strongest first.
    """
    found = {name: results(games, name) for name in reversed(scripted)}
    return {
        name: (len(each[0]), score_interval(*each)) for name, each in found.items() if len(each[0]) >= GAMES_PER_RESULT
    }


def plan_scripted(
    games: GameTable,
    scripted: Sequence[str],
    newest: str,
    budget: int,
    rng: np.random.Generator,
    games_each: int = 2,
    *,
    last: bool = False,
) -> list[Matchup]:
    """Matchups of the newest generation with scripted players that generations have not met often enough.

    While training, scripted players with too few games in total come first, from the weakest to the strongest, so that
    wins show early. Those with too few games in the second half of the training follow, from the strongest to the
    weakest.

    Args:
        games: comparable games.
        scripted: scripted players, the weakest first.
        newest: the newest generation.
        budget: games, at most.
        rng: draws the seeds.
        games_each: games per matchup.
        last: whether training has ended; then ``newest`` itself plays the ``STRONGEST`` strongest against which
            the score is at least ``MIN_SCORE``, and no others.
    """
    number, strongest = generation_number(newest) or 0, scripted[::-1]
    order = [(name, 0.0) for name in scripted] + [(name, number / 2) for name in strongest]
    if last:
        recent = {name: results(games, name)[0] for name in strongest}
        near = [name for name in strongest if len(recent[name]) < GAMES_PER_RESULT or recent[name].mean() >= MIN_SCORE]
        order = [(name, float(number)) for name in near[:STRONGEST]]
    found: list[Matchup] = []
    for name, since in order:
        planned = games_each * sum(name in matchup.players for matchup in found)
        missing = GAMES_PER_RESULT - planned - len(results(games, name, since)[0])
        if (count := min(missing, budget - len(found) * games_each)) >= games_each:
            found += repeat(newest, name, count, rng, games_each)
    return found
