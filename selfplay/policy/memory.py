"""What the players of some seats remember: a row a seat, whoever plays it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from selfplay.policy.network import ActorCritic

Rows = Tensor | slice
Answer = tuple[Tensor, Tensor, Tensor | None]
"""Logits [N, L] and values [N], and what is remembered after it [N, M], None where nothing is; all on the processor, in
float32."""
Ask = Callable[["ActorCritic", Tensor, Tensor | None], Answer]
"""Asks a network about observations [N, D], with the memories [N, M] of those who saw them where it has any."""


def directly(network: ActorCritic, obs: Tensor, memory: Tensor | None) -> Answer:
    """Ask a network on its device."""
    device = network.out.weight.device
    if obs.device != device:
        obs = obs.to(device)
    if memory is None:
        logits, value = network(obs)
        return _brought(logits), _brought(value), None
    logits, value, after = network.step(obs, memory.to(device))
    return _brought(logits), _brought(value), _brought(after)


def _brought(tensor: Tensor) -> Tensor:
    """To the processor, in float32; an operation that changes nothing would still let other threads in."""
    return tensor if tensor.is_cpu and tensor.dtype == torch.float32 else tensor.float().cpu()


class Memory:
    """Rows as wide as the widest network that has played so far; one that needs less uses their beginning.

    A seat changes hands only when its episode ends, and then ``forget`` clears its row.
    """

    def __init__(self, seats: int, ask: Ask = directly) -> None:
        """``ask``: how networks are asked."""
        self._rows = torch.zeros(seats, 0)
        self._ask = ask

    def step(self, network: ActorCritic, obs: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
        """Let a network decide for some seats; logits and values, on the processor in float32.

        Args:
            network: who plays them.
            obs: float [N, D], of these seats.
            rows: which seats: N numbers, or a slice.
        """
        width = network.memory_width
        logits, value, after = self._ask(network, obs, self.read(width, rows) if width else None)
        if after is not None:
            self._rows[rows, :width] = after
        return logits, value

    def read(self, width: int, rows: Rows = slice(None)) -> Tensor:
        """What some seats remember, [N, width]; not a copy where ``rows`` is a slice."""
        self._grow(0, width)
        return self._rows[rows, :width]

    def forget(self, seats: Sequence[int] | Tensor) -> None:
        """An episode has ended on these seats."""
        self._rows[seats] = 0.0

    def seat(self, seats: int) -> None:
        """Have rows for at least so many seats."""
        self._grow(seats, 0)

    def _grow(self, seats: int, width: int) -> None:
        seats, width = max(seats - len(self._rows), 0), max(width - self._rows.shape[1], 0)
        if seats or width:
            with torch.inference_mode(mode=False):  # what is made inside could not be written to outside
                self._rows = functional.pad(self._rows, (0, width, 0, seats))

    def all(self) -> Tensor:
        """Every row; the memory's own."""
        return self._rows

    def restore(self, rows: Tensor) -> None:
        """Take what ``all`` gave."""
        self._rows = rows
