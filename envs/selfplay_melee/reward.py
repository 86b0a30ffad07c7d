"""Rewards of a step: stocks and damage, which are zero-sum, and costs of not fighting, which go to neither seat.

Stocks and damage cannot be given back, so no term can be collected repeatedly. The sum over both seats is never above
zero, so two players that help each other gain nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from selfplay.compilation.compile import compiled, rule
from selfplay_melee.physics.actions.death import is_away
from selfplay_melee.state import FPS

if TYPE_CHECKING:
    from selfplay_melee.reward_weights import RewardWeights


class RewardTerms(NamedTuple):
    """The terms of a seat's reward. ``episodes`` adds them up by episode; the statistics call a sum ``reward_NAME``."""

    stock: float
    damage: float
    stalling: float
    lingering: float
    self_destruct: float


def per_frame(weights: RewardWeights) -> RewardWeights:
    """The weights that the rules read: by frames, not by seconds, and for each percent of lingering."""
    return weights._replace(
        stalling=weights.stalling / FPS,
        stalling_after=float(round(weights.stalling_after * FPS)),
        lingering=weights.lingering / FPS / 100.0,
    )


@compiled
def reward_terms(weights, frames, other, stocks, damage, self_destructs, stalled):
    """The terms of one seat in a step.

    Args:
        weights: ``per_frame``.
        frames: Of the step.
        other: PLAYER record of the opponent after the step.
        stocks: How many more the opponent lost in the step.
        damage: Percent that the seat dealt in the step, less what it took.
        self_destructs: Of the seat in the step.
        stalled: Frames of stalling in the step.
    """
    return RewardTerms(
        stock=weights.stock * stocks,
        damage=weights.damage * damage,
        stalling=-(weights.stalling * stalled),
        lingering=-(weights.lingering * frames * lingering_percent(other, weights.lingering_from)),
        self_destruct=-(weights.self_destruct * self_destructs),
    )


@rule
def lingering_percent(other, threshold):
    """Percent of an opponent in play (PLAYER record) above a threshold; 0 where it is out of play."""
    if is_away(other):
        return 0.0
    return max(0.0, other.percent - threshold)


@rule
def stalling_frames(quiet, options):
    """How many of the last frames were stalling, ``quiet`` frames after the last damage."""
    return min(max(quiet - options.rewards.stalling_after, 0.0), options.frame_skip)
