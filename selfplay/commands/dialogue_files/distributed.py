"""Process groups of ``torchrun``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import distributed

from selfplay.errors import ConfigError
from selfplay.machine import pick_device


@dataclass(frozen=True, slots=True)
class Process:
    """This process."""

    rank: int
    count: int
    local_count: int  # on this machine
    device: str

    @property
    def first(self) -> bool:
        """True for rank 0, which writes files and messages."""
        return self.rank == 0

    def wait(self) -> None:
        if self.count > 1:
            distributed.barrier()


@contextmanager
def joined(device: str) -> Iterator[Process]:
    """Join the process group; each process has its own GPU of CUDA_VISIBLE_DEVICES.

    Args:
        device: `cpu`, `cuda:N` or `auto`; with several processes `cpu` or `auto`.

    Raises:
        ConfigError: fewer GPUs than processes, or one GPU for several.
    """
    count = _env_int("WORLD_SIZE", 1)
    if count == 1:
        yield Process(0, 1, 1, pick_device(device))
        return
    local = _env_int("LOCAL_RANK", 0)
    if device not in ("auto", "cpu"):
        raise ConfigError(f"--device {device}: several processes share the GPUs of `auto`, or `cpu`")
    if device == "auto":
        device = pick_device(f"cuda:{local}") if torch.cuda.is_available() else "cpu"
    on_gpu = device != "cpu"
    if on_gpu:
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield Process(distributed.get_rank(), count, _env_int("LOCAL_WORLD_SIZE", count), device)
    finally:
        distributed.destroy_process_group()


def _env_int(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else default
