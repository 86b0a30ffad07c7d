"""Generalised advantage estimation (Schulman et al. 2016, https://arxiv.org/abs/1506.02438)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
Bool = NDArray[np.bool_]


def gae(
    reward: F32,
    value: F32,
    next_value: F32,
    boundary: Bool,
    gamma: float,
    lam: float,
    decides: Bool | None = None,
    learner: Bool | None = None,
) -> F32:
    """Advantages of independent streams, all arrays [T, S].

        delta_t = r_t + gamma V(s'_t) - V(s_t)
        A_t     = delta_t + gamma lam A_{t+1}, where the sum stops at a boundary

    ``next_value`` is V(s'_t) as computed with the data: 0 after termination, V of the last observation after
    truncation, else V of the next step. T = 0 is allowed.

    Where ``decides`` names the steps in which something is decided, a transition leads from a decision to the stream's
    next one: its reward is the sum of the rewards until then, and it is discounted once. The advantages are valid for
    decisions of the ``learner``; the others, whose outcome may not be known, pass nothing on.
    """
    everywhere = np.ones(value.shape, np.bool_)
    decides, learner = (everywhere if given is None else given for given in (decides, learner))
    carry = np.float32(gamma * lam) * ~boundary
    advantage = np.zeros_like(value)
    rewards, last = np.zeros((2, value.shape[1]), np.float32)  # until the next decision; A of that one
    after = next_value[-1] if len(value) else last  # V of it
    for t in range(len(value) - 1, -1, -1):
        goes_on = ~boundary[t]
        rewards = reward[t] + goes_on * rewards
        after = np.where(goes_on, after, next_value[t])
        decided = decides[t]
        advantage[t] = learner[t] * (rewards + np.float32(gamma) * after - value[t] + carry[t] * last)
        rewards = ~decided * rewards
        after, last = np.where(decided, value[t], after), np.where(decided, advantage[t], goes_on * last)
    return advantage
