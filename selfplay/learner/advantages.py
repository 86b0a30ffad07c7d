"""Advantages for GRPO: a game's reward compared with others from the same state and seat.

Letters in shapes: G games of a group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Advantage: TypeAlias = Literal["grpo", "dr_grpo", "rloo"]
Baseline: TypeAlias = Literal["group", "role-ema"]
Floats: TypeAlias = NDArray[np.float64]

_TINY: Final = 1e-6  # added to the standard deviation, as in verl


def group_advantages(rewards: Floats, kind: Advantage) -> Floats:
    """[G] advantages of the rewards [G] of one group; exactly 0 for single games and equal rewards.

        dr_grpo  r - mean                             (Liu et al. 2025, https://arxiv.org/abs/2503.20783)
        grpo     (r - mean) / (s + 1e-6)              (Shao et al. 2024, https://arxiv.org/abs/2402.03300)
        rloo     r - mean of the G-1 others           (Ahmadian et al. 2024, https://arxiv.org/abs/2402.14740)

    with s the unbiased standard deviation. ``dr_grpo`` and ``rloo`` differ by the factor G / (G - 1). Division by s
    weighs states against each other; in games of hidden information that moves the fixed point of the update away from
    the equilibrium.
    """
    games = len(rewards)
    if games < 2 or np.ptp(rewards) == 0:
        return np.zeros(games)
    centred = rewards - rewards.mean()
    scale = {"dr_grpo": 1.0, "grpo": 1 / (rewards.std(ddof=1) + _TINY), "rloo": games / (games - 1)}
    return np.asarray(centred * scale[kind], np.float64)


class RoleEMA:
    """A baseline across states: the exponential moving average of a seat's rewards.

    After the role-conditioned advantage of SPIRAL (Liu et al. 2025, https://arxiv.org/abs/2506.24119). It is updated
    once per update with the mean of the seat's rewards. An update is compared with the average before it, which does
    not depend on its own games; the first update of a seat is compared with its own mean.
    """

    def __init__(self, decay: float) -> None:
        self._decay = decay  # of the old mean
        self._means: dict[int, float] = {}

    def state(self) -> dict[str, float]:
        """The average of each seat, for a checkpoint."""
        return {str(seat): mean for seat, mean in sorted(self._means.items())}

    def restore(self, state: Mapping[str, float]) -> None:
        self._means = {int(seat): mean for seat, mean in state.items()}

    def advantages(self, seats: Sequence[int], rewards: Sequence[Floats]) -> list[Floats]:
        """Rewards [G] of each group minus the baseline of its seat; then updates the baselines."""
        found: dict[int, list[Floats]] = {}
        for seat, group in zip(seats, rewards, strict=True):
            found.setdefault(seat, []).append(group)
        now = {seat: float(np.concatenate(groups).mean()) for seat, groups in found.items()}
        before = {seat: self._means.get(seat, mean) for seat, mean in now.items()}
        for seat, mean in now.items():
            self._means[seat] = self._decay * before[seat] + (1 - self._decay) * mean
        return [group - before[seat] for seat, group in zip(seats, rewards, strict=True)]
