"""Torch devices, cores, memory and processor of this machine."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from selfplay.errors import ConfigError

DRIVERS: Final = ("/dev/nvidiactl", "/dev/nvhost-ctrl", "/dev/nvgpu", "/dev/dxg", "/dev/kfd")
"""Device files of the drivers that torch uses as CUDA: NVIDIA's, also on Jetson and below Windows, and AMD's."""
CUBLAS: Final = "CUBLAS_WORKSPACE_CONFIG"
WORKSPACES: Final = (":4096:8", ":16:8")
"""Its values with which torch takes cuBLAS for deterministic; cuBLAS reads it when it begins."""
THREADS: Final = 4  # of a learner's update at most: a minibatch cut finer than that only waits


def check_device(name: str) -> None:
    """Refuse a device that cannot be on this machine, without torch, which takes seconds to load."""
    if name in ("auto", "cpu"):
        return
    if not re.fullmatch(r"cuda(:\d+)?", name):
        near = ", did you mean cuda?" if name.lower().startswith(("gpu", "cuda", "nvidia")) else ""
        raise ConfigError(f"--device {name}: unknown{near} (valid: auto, cpu, cuda, cuda:N)")
    if not any(Path(path).exists() for path in DRIVERS):
        raise ConfigError(f"--device {name}: not on this machine (valid: auto, cpu)")


def pick_device(name: str) -> str:
    """The torch device behind ``--device``; ConfigError, which says which there are, if it is not one of them."""
    import torch  # here: the rest is asked where torch may be missing

    valid = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    if name == "auto":
        return valid[-1] if len(valid) == 1 else valid[1]
    wanted = "cuda:0" if name == "cuda" else name
    if wanted not in valid:
        raise ConfigError(f"--device {name}: not on this machine (valid: auto, {', '.join(valid)})")
    return wanted


def be_deterministic(device: str) -> None:
    """Have torch compute the same, bit for bit, from the same; before the device is used.

    ConfigError if the environment asks cuBLAS for a workspace with which it would not.
    """
    import torch

    if device != "cpu":
        given = os.environ.setdefault(CUBLAS, WORKSPACES[0])
        if given not in WORKSPACES:
            raise ConfigError(
                f"--deterministic: {CUBLAS}={given} in the environment lets cuBLAS round otherwise each time "
                f"(valid: {', '.join(WORKSPACES)}, or leave it out)"
            )
    torch.use_deterministic_algorithms(mode=True)


def usable_cores() -> int:
    """Processor cores that this process may run on, fewer than the machine has where it is confined to some."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def update_threads(threads: int) -> int:
    """Threads of a learner's update: ``threads``, or with 0 by cores."""
    return threads or min(usable_cores(), THREADS)


def give_back_memory() -> None:
    """Hand free memory back to the system, where the C library can do that (glibc); takes a few milliseconds.

    Games that are rated take arrays of many sizes in several threads; what is free between them would stay with the
    process, a little more each time.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
