"""What an update learns from: decisions one by one, or columns of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from selfplay.rollout.reused import Reused


@dataclass(frozen=True, slots=True)
class Batch:
    """What an update learns from, on the learner's device: N decisions, or N columns of T decisions in a row.

    Shapes are those of decisions; of columns each has a T behind its N.
    """

    obs: Tensor  # float [N, D]
    action: Tensor  # int8 [N, A]
    logprob: Tensor  # float [N] of the behaviour policy
    value: Tensor  # float [N] V(s) when it was played
    advantage: Tensor  # float [N]; ``PPO.update`` normalises it
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
        """Decisions of an item, those of others among them."""
        return 1 if self.memory is None else self.obs.shape[1]

    @property
    def decisions(self) -> int:
        """How many train."""
        return len(self.obs) if self.mine is None else int(self.mine.sum())

    def decisions_of(self, index: Tensor) -> int:
        """How many of some items train."""
        return len(index) if self.mine is None else int(self.mine[index].sum())

    def items(self, index: Tensor | slice) -> Batch:
        """Some items: a copy where an index tensor asks for them, a view where a slice does."""
        return self._map(lambda tensor: tensor[index])

    def taken(self, index: Tensor, arrays: Reused) -> Batch:
        """Copies of some items, on the processor in ``arrays``."""
        return self._map(lambda tensor: taken(tensor, index, arrays))

    def flat(self) -> Batch:
        """The decisions that train, one by one, without what columns need besides."""
        if self.mine is None:
            return self
        mine = self.mine
        return replace(self, memory=None, fresh=None, mine=None)._map(lambda tensor: tensor[mine])

    def _map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        tensors: dict[str, Tensor | None] = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: change(tensor) for name, tensor in tensors.items() if tensor is not None})


def taken(tensor: Tensor, index: Tensor, arrays: Reused) -> Tensor:
    """A copy of some rows, on the processor in ``arrays``."""
    if index.device.type != "cpu":
        return tensor[index]
    out = torch.from_numpy(arrays.array((len(index), *tensor.shape[1:]), tensor.numpy().dtype))
    return torch.index_select(tensor, 0, index, out=out)
