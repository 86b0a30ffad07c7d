"""Baselines of imitation: predictions from how often the player chose each action, without observations.

A parts of an action (buttons, then categoricals), K classes of the largest part; a button has two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

if TYPE_CHECKING:
    from selfplay.policy.heads import Heads

_HALVINGS: Final = 60  # of the interval that is searched for the share of changes


@dataclass(frozen=True, slots=True)
class ActionCounts:
    """Counts of each class of each part of an action, and of the decisions that repeat the last one."""

    sizes: tuple[int, ...]  # [A] classes of each part
    counts: Tensor  # int64 [A, K] decisions
    same: Tensor  # int64 [A, K] decisions that repeat the last controller

    @staticmethod
    def none(heads: Heads) -> ActionCounts:
        sizes = (2,) * heads.binary + heads.sizes
        empty = torch.zeros(len(sizes), max(sizes), dtype=torch.int64)
        return ActionCounts(sizes, empty, empty.clone())

    def add(self, action: Tensor, last: Tensor) -> None:
        """Count actions int8 [N, A] that followed the controllers ``last``."""
        chosen = action.long()
        self.counts.scatter_add_(1, chosen.T, torch.ones_like(chosen.T))
        self.same.scatter_add_(1, chosen.T, (action == last).long().T)

    @property
    def rows(self) -> int:
        return int(self.counts[0].sum())

    @property
    def shares(self) -> Tensor:
        """Distribution of each part over its classes, each counted once more than it was seen, float64 [A, K]."""
        classes = torch.arange(self.counts.shape[1]) < torch.tensor(self.sizes)[:, None]
        counts = torch.where(classes, self.counts + 1, 0).double()
        return counts / counts.sum(1, keepdim=True)

    @property
    def press_rates(self) -> Tensor:
        """Share of the decisions with class 1, float64 [A]; of a button: pressed."""
        return self.counts[:, 1].double() / max(self.rows, 1)


class Baselines:
    """Two predictions that ignore the observation.

    *Head marginals* draws every part from its distribution m in the training data. *Repeat the last controller* keeps
    a part with probability 1 - e and draws it from m otherwise:

        q(a) = (1 - e) [a = last] + e m(a)

    with the e of each part that makes the training data most likely; one more change is counted than there was.
    """

    def __init__(self, action_counts: ActionCounts) -> None:
        share = action_counts.shares
        self.change = _fit(action_counts, share)
        e = self.change[:, None]
        self._marginal = -share.log()  # [A, K]; no row has what is no class
        self._changed = -(e * share).log()
        self._same = -(1 - e + e * share).log()

    def losses(self, action: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
        """Negative log-likelihood of actions int8 [N, A] under both, float64 [N]: marginals, repeat."""
        action, last = action.cpu(), last.cpu()
        part = torch.arange(action.shape[1])
        chosen = action.long()
        repeat = torch.where(action == last, self._same[part, chosen], self._changed[part, chosen])
        return self._marginal[part, chosen].sum(1), repeat.sum(1)


def _fit(action_counts: ActionCounts, share: Tensor) -> Tensor:
    """The e of each part, float64 [A]: where the derivative of the log-likelihood, which falls in e, is 0.

    With C changes and S_k decisions that kept class k: C / e = sum over k of S_k (1 - m_k) / (1 - e (1 - m_k)).
    """
    same = action_counts.same.double()
    changes = (action_counts.counts - action_counts.same).sum(1).double() + 1
    low, high = torch.zeros_like(changes), torch.ones_like(changes)
    for _ in range(_HALVINGS):
        e = (low + high) / 2
        slope = changes / e - (same * (1 - share) / (1 - e[:, None] * (1 - share))).sum(1)
        low, high = torch.where(slope > 0, e, low), torch.where(slope > 0, high, e)
    return high
