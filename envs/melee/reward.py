"""Zero-sum rewards.

Stocks and damage cannot be given back, so no term can be collected repeatedly.
"""

from __future__ import annotations

from envs.compile import compiled


@compiled
def reward_terms(before, me, other, my_damage, other_damage, stock, damage):
    """The terms (stock, damage) of one seat.

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
