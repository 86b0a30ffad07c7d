"""Generalised advantage estimation (Schulman et al. 2016, https://arxiv.org/abs/1506.02438)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]


Bool = NDArray[np.bool_]


def gae(reward: F32, value: F32, next_value: F32, boundary: Bool, gamma: float, lam: float) -> F32:
    """Advantages of independent streams, all arrays [T, S].

        delta_t = r_t + gamma V(s'_t) - V(s_t)
        A_t     = delta_t + gamma lam A_{t+1}, where the sum stops at a boundary

    ``next_value`` is V(s'_t) as made with the data: 0 where the game ended, V of the last observation where a limit
    of ours cut the episode, so that a cut is not mistaken for a death. T = 0 is allowed.
    """
    delta = reward + np.float32(gamma) * next_value - value
    carry = np.float32(gamma * lam) * ~boundary
    advantage = np.empty_like(delta)
    last = np.zeros(delta.shape[1:], np.float32)
    for t in range(len(delta) - 1, -1, -1):
        last = delta[t] + carry[t] * last
        advantage[t] = last
    return advantage


def gae_of_decisions(
    reward: F32,
    value: F32,
    next_value: F32,
    boundary: Bool,
    decides: Bool,
    learner: Bool,
    gamma: float,
    lam: float,
) -> F32:
    """Advantages of the decisions of streams that also have steps without a choice; those as in ``gae``.

    A transition leads from a decision to the stream's next one: its reward is the sum of the rewards until then, and it
    is discounted once.

    Args:
        reward: [T, S], and likewise the following; those of ``gae``.
        value: V(s), used where a decision is made.
        next_value: V(s'), used at boundaries and after the last step.
        boundary: Where an episode ends.
        decides: Where a decision is made.
        learner: Decisions that train; the others, whose outcome may not be known, pass nothing on.
        gamma: Discount.
        lam: Lambda.

    Returns:
        Advantages [T, S], valid where ``learner`` is.
    """
    advantage = np.zeros_like(value)
    rewards, last = np.zeros((2, value.shape[1]), np.float32)  # until the next decision; A of that one
    after = next_value[-1] if len(value) else last  # V of it
    for t in range(len(value) - 1, -1, -1):
        goes_on = ~boundary[t]
        rewards = reward[t] + goes_on * rewards
        after = np.where(goes_on, after, next_value[t])
        last = goes_on * last
        decided = decides[t]
        advantage[t] = learner[t] * (rewards + np.float32(gamma) * after - value[t] + np.float32(gamma * lam) * last)
        rewards = ~decided * rewards
        after, last = np.where(decided, value[t], after), np.where(decided, advantage[t], last)
    return advantage
