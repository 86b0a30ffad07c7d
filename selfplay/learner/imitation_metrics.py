"""Metrics of imitation on held-out decisions, and baselines: predictions from how often each action was chosen.

A parts of an action (buttons, then categoricals), K classes of the largest part; a button has two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from selfplay.learner.imitation import part_losses
from selfplay.policy.heads import probabilities, sample

if TYPE_CHECKING:
    from selfplay.learner.imitation import Decided
    from selfplay.policy.heads import Heads

DIVERSITY_ROWS: Final = 20_000  # decisions whose whole actions are compared; more do not change the result
Pair = tuple[int, int]
"""Index of the first of two parts that belong together, such as a stick's axes, and the class of both at its centre."""
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


@dataclass(frozen=True, slots=True)
class Mean:
    """Negative log-likelihood per decision, in nats: over all decisions, and over those that changed the controller."""

    all: float
    changed: float | None  # None without such decisions


@dataclass(frozen=True, slots=True)
class ImitationMetrics:
    """A network and both baselines on the same decisions."""

    rows: int
    changed_rows: int
    model: Mean
    marginals: Mean
    repeat: Mean
    parts: tuple[float, ...]  # [A] the model's, of each part
    pressed: tuple[tuple[float, float], ...]  # of each button: press rate of the network, of the player
    off_centre: dict[str, tuple[float, float]]  # of each pair: rate off centre of the network, of the player
    accuracy: float  # share of decisions whose most likely action is the player's
    distinct: tuple[int, int]  # different actions in the first DIVERSITY_ROWS decisions: drawn from the network, played

    @property
    def diversity(self) -> float:
        """Distinct actions of the network for each of the player."""
        return self.distinct[0] / max(self.distinct[1], 1)


def imitation_metrics(
    heads: Heads,
    decisions: Iterable[Decided],
    baselines: Baselines,
    pairs: Mapping[str, Pair],
    generator: torch.Generator,
) -> ImitationMetrics | None:
    """Metrics of a network and both baselines; None without decisions. ``generator`` (CPU) is for ``distinct``."""
    totals = torch.zeros(8, dtype=torch.float64)
    parts = torch.zeros(heads.width, dtype=torch.float64)
    pressed = torch.zeros(2, heads.binary, dtype=torch.float64)
    out = torch.zeros(2, len(pairs), dtype=torch.float64)
    drawn: set[bytes] = set()
    played: set[bytes] = set()
    seen = right = 0
    for decided in decisions:
        logits, action, last = decided.logits.cpu().float(), decided.action.cpu(), decided.last.cpu()
        changed = (action != last).any(1)
        losses = part_losses(heads, logits, action).double()
        parts += losses.sum(0)
        rows = torch.stack(
            [torch.ones(len(action), dtype=torch.float64), losses.sum(1), *baselines.losses(action, last)]
        )
        totals += torch.cat([rows.sum(1), rows[:, changed].sum(1)])
        chances = probabilities(heads, logits).double()
        pressed += torch.stack([chances[:, : heads.binary].sum(0), action[:, : heads.binary].double().sum(0)])
        for i, pair in enumerate(pairs.values()):
            out[:, i] += torch.stack(_off_centre(heads, chances, action, *pair))
        right += int((sample(heads, logits, None, greedy=True)[0] == action).all(1).sum())
        if (left := DIVERSITY_ROWS - seen) > 0:
            drawn |= _distinct(sample(heads, logits[:left], generator)[0])
            played |= _distinct(action[:left])
        seen += len(action)
    if not seen:
        return None
    every, some = totals[:4].tolist(), totals[4:].tolist()
    model, marginals, repeat = (
        Mean(a / every[0], b / some[0] if some[0] else None) for a, b in zip(every[1:], some[1:], strict=True)
    )
    return ImitationMetrics(
        rows=seen,
        changed_rows=round(some[0]),
        model=model,
        marginals=marginals,
        repeat=repeat,
        parts=tuple((parts / seen).tolist()),
        pressed=tuple((a, b) for a, b in (pressed / seen).T.tolist()),
        off_centre={name: (a, b) for name, (a, b) in zip(pairs, (out / seen).T.tolist(), strict=True)},
        accuracy=right / seen,
        distinct=(len(drawn), len(played)),
    )


def _off_centre(heads: Heads, chances: Tensor, action: Tensor, first: int, centre: int) -> tuple[Tensor, Tensor]:
    """Decisions with a pair off centre: expected for the network, whose parts are independent, and of the player."""
    x = heads.binary + sum(heads.sizes[: first - heads.binary])
    y = x + heads.sizes[first - heads.binary]
    at_rest = chances[:, x + centre] * chances[:, y + centre]
    out = (action[:, first] != centre) | (action[:, first + 1] != centre)
    return (1 - at_rest).sum(), out.double().sum()


def _distinct(action: Tensor) -> set[bytes]:
    return {row.tobytes() for row in torch.unique(action, dim=0).numpy()}
