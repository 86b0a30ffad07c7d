"""Generalised advantage estimation (Schulman et al. 2016, https://arxiv.org/abs/1506.02438)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]


def gae(reward: F32, value: F32, next_value: F32, boundary: NDArray[np.bool_], gamma: float, lam: float) -> F32:
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
