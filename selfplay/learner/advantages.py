"""Advantages of dialogue games, for GRPO: a game's reward compared with others from the same state and seat.

Letters in shapes: G games of a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from selfplay.errors import ConfigError, LearnerError

if TYPE_CHECKING:
    from selfplay.dialogue.instances import DialogueGroup, Instance

Advantage: TypeAlias = Literal["grpo", "dr_grpo", "rloo"]
Baseline: TypeAlias = Literal["group", "role-ema"]
Floats: TypeAlias = NDArray[np.float64]

_TINY: Final = 1e-6  # added to the standard deviation, as in verl


def refuse_single_games(games_per_state: int, baseline: Baseline) -> None:
    """Refuse one game per state without a baseline across states (ConfigError): nothing could be compared."""
    if games_per_state < 2 and baseline == "group":
        raise ConfigError(
            f"--games-per-state {games_per_state}: one game's pair has one reward, and so advantage zero, always; "
            "play 2 or more games on each state, or compare across states with --baseline role-ema"
        )


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

    def advantages(self, groups: Sequence[DialogueGroup]) -> list[Floats]:
        """Rewards minus their seat's baseline, [G] of each group; then updates the baselines."""
        found: dict[int, list[Floats]] = {}
        for group in groups:
            found.setdefault(group.seat, []).append(group.rewards)
        now = {seat: float(np.concatenate(rewards).mean()) for seat, rewards in found.items()}
        before = {seat: self._means.get(seat, mean) for seat, mean in now.items()}
        for seat, mean in now.items():
            self._means[seat] = self._decay * before[seat] + (1 - self._decay) * mean
        return [group.rewards - before[group.seat] for group in groups]


@dataclass(frozen=True, slots=True)
class AdvantageBatch:
    """Instances that train, each with its advantage, and the number of groups of each kind."""

    instances: tuple[tuple[Instance, float], ...]
    groups: int
    singletons: int  # groups of one game
    zero_variance: int  # larger groups with equal rewards


def with_advantages(
    groups: Iterable[DialogueGroup], kind: Advantage, baseline: RoleEMA | None = None
) -> AdvantageBatch:
    """Advantages of all games of an update.

    Without a baseline, groups of one game and groups of equal rewards have no advantages: they are counted and left
    out. A baseline replaces ``kind``: groups of every size train, and the call updates it.

    Raises:
        LearnerError: a reward is not finite.
    """
    groups = list(groups)
    for group in groups:
        if not np.isfinite(group.rewards).all():
            raise LearnerError(f"state {group.index}, seat {group.seat}: a reward is not finite: {group.rewards}")
    alone = [len(group.rewards) == 1 for group in groups]
    even = [len(group.rewards) > 1 and bool(np.ptp(group.rewards) == 0) for group in groups]
    if baseline is not None:
        values = baseline.advantages(groups)
        kept = [True] * len(groups)
    else:
        values = [group_advantages(group.rewards, kind) for group in groups]
        kept = [not (single or same) for single, same in zip(alone, even, strict=True)]
    return AdvantageBatch(
        tuple(
            (instance, float(advantage))
            for group, advantages, keep in zip(groups, values, kept, strict=True)
            if keep
            for instance, advantage in zip(group.instances, np.repeat(advantages, group.rows), strict=True)
        ),
        groups=len(groups),
        singletons=sum(alone),
        zero_variance=sum(even),
    )
