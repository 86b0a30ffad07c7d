"""Health rules of fights, see ``selfplay.report.health``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError

from selfplay.report.health import MetricsRow, Rule, entropy_collapse, figures, value_function
from selfplay.report.metrics import MIRROR, Pace
from selfplay_melee.show.columns import COLUMNS

EPISODES: Final = 50  # minimum number of episodes to judge results
MIRROR_GAMES: Final = 20  # minimum number of mirror games to judge how they end
BEGINNING: Final = 150  # iterations whose mirror games are not judged: the first ones show how the first policy plays
PEOPLE: Final = 1.2  # stocks a minute that people lose, docs/melee/internals/fights.md


def rules() -> dict[str, Rule]:
    """By the name of the problem."""
    return {
        "entropy_collapse": entropy_collapse,
        "few_results": _few_results,
        "stalling": _stalling,
        "value_function": value_function,
    }


def _few_results(rows: Sequence[MetricsRow]) -> str | None:
    episodes, draws = sum(figures(rows, "play/episodes")), sum(figures(rows, "play/draws"))
    if episodes < EPISODES or draws <= 0.5 * episodes:
        return None
    return (
        f"Few results: {draws / episodes:.0%} of the last {episodes} episodes ended without a winner. Raise "
        "--max-episode-frames, or train longer until the policy learns to finish games."
    )


def _mirror_pace(row: MetricsRow) -> Pace | None:
    try:
        return Pace.from_row(row, MIRROR, COLUMNS.rates)
    except ValidationError:
        return None


def _stalling(rows: Sequence[MetricsRow]) -> str | None:
    found = (_mirror_pace(row) for row in rows if row["iteration"] > BEGINNING)
    paces = [pace for pace in found if pace is not None]
    if sum(pace.games for pace in paces) < MIRROR_GAMES:
        return None
    pace = Pace.joined(paces, COLUMNS.rates)
    finished, stocks = pace.rates["finished"], pace.rates["stocks_per_minute"]
    # Under a short cap few games can be finished, and the second figure decides.
    if finished >= 0.5 or stocks >= 0.5:
        return None
    return (
        f"Stalling: {finished:.0%} of the last {pace.games} mirror games ended because a player was out of "
        f"stocks, {stocks:.2f} stocks a minute a player (people: {PEOPLE}). Start from imitation "
        "(--preset laptop), or give stalling a cost (--set reward.stalling=X)."
    )
