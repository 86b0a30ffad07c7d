"""One of the processes that ``torchrun`` starts, or the only one."""

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
    """Which one this is."""

    rank: int
    count: int
    here: int  # of them, on this machine
    device: str

    @property
    def first(self) -> bool:
        """The one that tells and writes."""
        return self.rank == 0

    def wait(self) -> None:
        """Until all are here."""
        if self.count > 1:
            distributed.barrier()


@contextmanager
def joined(device: str) -> Iterator[Process]:
    """This process among the others; each has a GPU of its own, of those that CUDA_VISIBLE_DEVICES shows.

    Args:
        device: `cpu`, `cuda:N` or `auto`; of several processes `cpu` or `auto`.

    Raises:
        ConfigError: there are more processes than GPUs, or one GPU is named for all.
    """
    count = _told("WORLD_SIZE", 1)
    if count == 1:
        yield Process(0, 1, 1, pick_device(device))
        return
    local = _told("LOCAL_RANK", 0)
    if device not in ("auto", "cpu"):
        raise ConfigError(f"--device {device}: several processes share the GPUs of `auto`, or `cpu`")
    if device == "auto":
        device = pick_device(f"cuda:{local}") if torch.cuda.is_available() else "cpu"
    on_gpu = device != "cpu"
    if on_gpu:
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield Process(distributed.get_rank(), count, _told("LOCAL_WORLD_SIZE", count), device)
    finally:
        distributed.destroy_process_group()


def _told(name: str, usual: int) -> int:
    word = os.environ.get(name, "")
    return int(word) if word.isascii() and word.isdigit() else usual
