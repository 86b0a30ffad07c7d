"""Rewards of a step: stocks and damage, which are zero-sum, and a cost of stalling, which both seats pay.

Stocks and damage cannot be given back, so no term can be collected repeatedly. The sum over both seats is never above
zero, so two players that help each other gain nothing.
"""

from __future__ import annotations

from envs.compile import compiled


@compiled
def reward_terms(before, me, other, my_damage, other_damage, stock, damage):
    """The zero-sum terms (stock, damage) of one seat.

    Args:
        before: Stocks before the step, of this seat and of the other.
        me: PLAYER record after the step.
        other: The same of the opponent.
        my_damage: Percent dealt by this seat in the step, see ``counted_damage``.
        other_damage: The same of the opponent.
        stock: Reward of a stock.
        damage: Reward of a percent.
    """
    taken = before[1] - other.stocks
    lost = before[0] - me.stocks
    return stock * (taken - lost), damage * (my_damage - other_damage)


@compiled
def counted_damage(damage, percent, fade):
    """Percent that count for the reward.

    Args:
        damage: Percent dealt.
        percent: What the victim had before.
        fade: Percent of the victim from which damage does not count; it counts less and less up to there. 0: damage
            always counts.
    """
    if fade <= 0.0:
        return damage
    return damage * max(0.0, 1.0 - (percent + 0.5 * damage) / fade)
