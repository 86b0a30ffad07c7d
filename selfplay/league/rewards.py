"""Scores that follow from rewards, and whether they tell the rewards."""

from __future__ import annotations

from typing import Final

EQUAL: Final = 1e-9  # tolerance below which two rewards are equal
BY_WINS: Final = "rewards of these games differ in size, and only wins count: to win more may still earn less"


def score_of(rewards: tuple[float, float]) -> float:
    """Score of the first of two players: the higher reward wins."""
    lead = rewards[0] - rewards[1]
    return 1.0 if lead > EQUAL else 0.0 if lead < -EQUAL else 0.5


class PaidByScore:
    """The least and the largest payoff of each score: where they differ, scores do not tell payoffs."""

    def __init__(self) -> None:
        self._range: dict[float, tuple[float, float]] = {}

    def add(self, score: float, payoff: float) -> None:
        low, high = self._range.get(score, (payoff, payoff))
        self._range[score] = min(low, payoff), max(high, payoff)

    @property
    def differ(self) -> bool:
        """Whether payoffs of one score differ, as in poker; not where a game is won, drawn or lost and no more."""
        return any(high - low > EQUAL for low, high in self._range.values())
