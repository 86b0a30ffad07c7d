"""Training data of an update: single decisions, or columns of consecutive ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from selfplay.rollout.buffers import Workspace


@dataclass(frozen=True, slots=True)
class Batch:
    """Training data on the learner's device: N decisions, or N columns of T consecutive decisions.

    Shapes are given for decisions; columns have [N, T] in place of [N].
    """

    obs: Tensor  # float [N, D]
    action: Tensor  # integers [N, A]
    logprob: Tensor  # float [N] of the behaviour policy
    value: Tensor  # float [N] V(s) when it was played
    advantage: Tensor  # float [N]; ``PPO.update`` normalizes it
    target: Tensor  # float [N] what V(s) should have been: advantage + value
    legal: Tensor | None = None  # bool [N, logits] what could be chosen; None: everything
    teacher: Tensor | None = None  # float [N, logits] of the teacher; None: there is none
    memory: Tensor | None = None  # float [N, M] before the first decision of each column; None: these are decisions
    fresh: Tensor | None = None  # bool [N, T] an episode begins here, and memory with it
    mine: Tensor | None = None  # bool [N, T] the learner's; the other decisions of a column train nothing

    def __len__(self) -> int:
        return len(self.obs)

    @property
    def width(self) -> int:
        """Decisions of an item, including those that do not train."""
        return 1 if self.memory is None else self.obs.shape[1]

    @property
    def decisions(self) -> int:
        return len(self.obs) if self.mine is None else int(self.mine.sum())

    def decisions_of(self, index: Tensor) -> int:
        """Number of decisions of some items that train."""
        return len(index) if self.mine is None else int(self.mine[index].sum())

    def items(self, index: Tensor | slice) -> Batch:
        """Some items: a copy for an index tensor, a view for a slice."""
        return self._map(lambda tensor: tensor[index])

    def taken(self, index: Tensor, workspace: Workspace) -> Batch:
        """Copies of some items; on the CPU in the workspace."""
        named = self._tensors().items()
        return replace(self, **{name: _taken(tensor, index, name, workspace) for name, tensor in named})

    def flat(self) -> Batch:
        """The decisions that train, one by one, without the fields of columns."""
        if self.mine is None:
            return self
        mine = self.mine
        return replace(self, memory=None, fresh=None, mine=None)._map(lambda tensor: tensor[mine])

    def normalized(self) -> Batch:
        """With advantages of mean 0 and standard deviation 1 over all decisions that train."""
        played = self.flat().advantage
        spread, mean = torch.std_mean(played) if len(played) > 1 else (torch.ones(()), torch.zeros(()))
        return replace(self, advantage=(self.advantage - mean) / (spread + 1e-8))

    def explained_variance(self) -> float:
        """1 - Var(R - V) / Var(R): 1 perfect, 0 no better than the mean, 0 also where returns do not vary."""
        if len(self) < 2:
            return 0.0
        variance = self.target.var()
        return 0.0 if float(variance) == 0 else float(1 - (self.target - self.value).var() / variance)

    def _map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        return replace(self, **{name: change(tensor) for name, tensor in self._tensors().items()})

    def _tensors(self) -> dict[str, Tensor]:
        tensors: dict[str, Tensor | None] = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: tensor for name, tensor in tensors.items() if tensor is not None}


def _taken(tensor: Tensor, index: Tensor, name: str, workspace: Workspace) -> Tensor:
    if index.device.type != "cpu":
        return tensor[index]
    out = torch.from_numpy(workspace.array(name, (len(index), *tensor.shape[1:]), tensor.numpy().dtype))
    return torch.index_select(tensor, 0, index, out=out)
