"""Weights of the terms of the reward, with their defaults.

They are the settings ``reward.NAME`` of a run and the argument ``rewards`` of a game; ``reward.py`` computes with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, NamedTuple, Self

from selfplay.games.errors import UnknownNameError


class RewardWeights(NamedTuple):
    """Zero-sum terms, and costs of not fighting, in reward units; none is below 0."""

    stock: Annotated[float, "For a stock taken; the other seat loses as much"] = 5.0
    damage: Annotated[float, "For a percent of damage dealt; the other seat loses as much"] = 0.05
    stalling: Annotated[float, "Cost of a second of stalling, which both players pay"] = 0.0
    stalling_after: Annotated[float, "Seconds without damage, both players in play, after which it is stalling"] = 2.0
    self_destruct: Annotated[
        float, "Cost of a self-destruct in addition to the stock; the other player gains nothing by it"
    ] = 0.0
    lingering: Annotated[
        float, "Cost of a second in which the opponent has 100% more than `reward.lingering_from`, and in proportion"
    ] = 0.0
    lingering_from: Annotated[float, "Percent from which a stock should be taken"] = 80.0

    @classmethod
    def of(cls, given: Mapping[str, float]) -> Self:
        """These weights, and the defaults of the others.

        Raises:
            UnknownNameError: there is no such weight.
        """
        for name in given:
            if name not in cls._fields:
                raise UnknownNameError("reward", name, cls._fields)
        return cls()._replace(**{name: float(weight) for name, weight in given.items()})


NO_REWARDS: Final = RewardWeights(*(0.0 for _ in RewardWeights._fields))
