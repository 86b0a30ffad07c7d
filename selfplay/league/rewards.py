"""Scores that follow from rewards, and whether they tell the rewards."""

from __future__ import annotations

from typing import Final

from selfplay.games.objective import EQUAL

BY_WINS: Final = (
    "rewards of these games differ in size, and only wins count: to win more may still earn less; "
    "objective = 'reward' in the game rates it by rewards"
)


def score_of(rewards: tuple[float, float]) -> float:
    """Score of the first of two players: the higher reward wins."""
    lead = rewards[0] - rewards[1]
    return 1.0 if lead > EQUAL else 0.0 if lead < -EQUAL else 0.5
