"""Rewards of a step: stocks and damage, which are zero-sum, and costs of not fighting, which go to neither seat.

Stocks and damage cannot be given back, so no term can be collected repeatedly. The sum over both seats is never above
zero, so two players that help each other gain nothing.
"""

from __future__ import annotations

from envs.compile import compiled, rule
from envs.melee.physics.actions.death import is_away


@compiled
def reward_terms(before, me, other, my_damage, other_damage, stock, damage):
    """The zero-sum terms (stock, damage) of one seat.

    Args:
        before: Stocks before the step, of this seat and of the other.
        me: PLAYER record after the step.
        other: The same of the opponent.
        my_damage: Percent dealt by this seat in the step.
        other_damage: The same of the opponent.
        stock: Reward of a stock.
        damage: Reward of a percent.
    """
    taken = before[1] - other.stocks
    lost = before[0] - me.stocks
    return stock * (taken - lost), damage * (my_damage - other_damage)


@rule
def lingering_percent(other, threshold):
    """Percent of an opponent in play (PLAYER record) above a threshold; 0 where it is out of play."""
    if is_away(other):
        return 0.0
    return max(0.0, other.percent - threshold)
