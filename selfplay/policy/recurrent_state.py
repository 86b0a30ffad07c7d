"""The recurrent state of the players of some seats, one row per seat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic

Rows = Tensor | slice
Answer = tuple[Tensor, Tensor, Tensor | None]
"""Logits [N, L], values [N], and the state after the decision [N, M] (None without one); on the CPU, float32."""
Infer = Callable[["ActorCritic", Tensor, Tensor | None], Answer]
"""Runs a network on observations [N, D] and, of a recurrent network, the state before the decision [N, M]."""


def infer_directly(network: ActorCritic, obs: Tensor, memory: Tensor | None) -> Answer:
    device = network.out.weight.device
    if obs.device != device:
        obs = obs.to(device)
    if memory is None:
        logits, value = network(obs)
        return _brought(logits), _brought(value), None
    logits, value, after = network.step(obs, memory.to(device))
    return _brought(logits), _brought(value), _brought(after)


def _brought(tensor: Tensor) -> Tensor:
    """On the CPU in float32. Without a change nothing is called, since a call may switch threads."""
    return tensor if tensor.is_cpu and tensor.dtype == torch.float32 else tensor.float().cpu()


class RecurrentState:
    """Rows as wide as the widest network so far; narrower networks use their beginning.

    A seat changes its player only at the end of an episode, where ``forget`` clears its row.
    """

    def __init__(self, seats: int, infer: Infer = infer_directly) -> None:
        self._rows = torch.zeros(seats, 0)
        self.infer = infer

    def step(self, network: ActorCritic, obs: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
        """Logits and values of a network for some seats, on the CPU in float32; their state advances by one decision.

        ``obs``, float [N, D], are of the seats ``rows``: N numbers, or a slice.
        """
        width = network.memory_width
        logits, value, after = self.infer(network, obs, self.read(width, rows) if width else None)
        if after is not None:
            self._rows[rows, :width] = after
        return logits, value

    def read(self, width: int, rows: Rows = slice(None)) -> Tensor:
        """State of some seats, [N, width]; a view where ``rows`` is a slice."""
        self._grow(0, width)
        return self._rows[rows, :width]

    def forget(self, seats: Sequence[int] | Tensor) -> None:
        self._rows[seats] = 0.0

    def seat(self, seats: int) -> None:
        """Make room for at least this many seats."""
        self._grow(seats, 0)

    def _grow(self, seats: int, width: int) -> None:
        seats, width = max(seats - len(self._rows), 0), max(width - self._rows.shape[1], 0)
        if seats or width:
            with torch.inference_mode(mode=False):  # a tensor made in inference mode could not be written outside of it
                self._rows = functional.pad(self._rows, (0, width, 0, seats))

    def all(self) -> Tensor:
        """Every row, not copied."""
        return self._rows

    def restore(self, rows: Tensor) -> None:
        """Use the rows that ``all`` returned."""
        self._rows = rows
