"""A model that several processes of ``torch.distributed`` train together, by FSDP2.

Each process keeps a part of every parameter, with its gradient and its optimizer state. A layer is whole only while it
is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, distributed, nn

T = TypeVar("T")


class ShardedModel(nn.Module):
    """Divides the parameters of a module, in place, and moves them to the device of this process.

    All processes make the same calls, each with work of its own, from one thread each. The gradients of all processes
    are added up.

    Args:
        module: with equal parameters in all processes.
        device: of this process.
    """

    def __init__(self, module: nn.Module, device: str) -> None:
        super().__init__()
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        self.count, self.rank = distributed.get_world_size(), distributed.get_rank()
        self.module = module
        mesh = init_device_mesh(torch.device(device).type, (self.count,))
        for part in (*_layers(module), self):
            # Without resharding, the parameters outside of layers would keep their values when a reference takes turns.
            sharded = fully_shard(part, mesh=mesh, reshard_after_forward=True)
            sharded.set_gradient_divide_factor(1.0)  # the losses of micro-batches are shares of a sum
            sharded.set_force_sum_reduction_for_comms(True)  # Gloo knows no other

    def forward(self, work: Callable[[], T]) -> T:
        """Do some work with the module: one forward pass, which uses all layers."""
        return work()

    @torch.no_grad()
    def gather(self) -> None:
        """Give the module its whole parameters, on the CPU, to save them. No forward pass is possible afterwards."""
        gathered: dict[Tensor, nn.Parameter] = {}  # tied parameters stay tied
        for owner in self.module.modules():
            for name, parameter in owner.named_parameters(recurse=False):
                if parameter not in gathered:
                    gathered[parameter] = nn.Parameter(whole(parameter.detach()).cpu(), parameter.requires_grad)
                owner.register_parameter(name, gathered[parameter])


def whole(tensor: Tensor) -> Tensor:
    """A tensor that may be divided among processes, which all call this."""
    full: Callable[[], Tensor] | None = getattr(tensor, "full_tensor", None)
    return tensor if full is None else full()


def is_sharded(tensor: Tensor) -> bool:
    return hasattr(tensor, "full_tensor")


def _layers(module: nn.Module) -> list[nn.Module]:
    """The members of lists of modules that are in no other list."""
    if isinstance(module, nn.ModuleList):
        return list(module)
    return [layer for child in module.children() for layer in _layers(child)]
