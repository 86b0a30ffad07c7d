"""Checks of disk, memory and cores."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from selfplay.commands.doctor.finding import Check
from selfplay.machine import usable_cores
from selfplay.memory_limits import as_size, available_memory

MB: Final = 1 << 20
LOW_DISK_MB: Final = 1000
LOW_SHARED_MB: Final = 16

SHARED: Final = Path("/dev/shm")


def checkpoint_disk(folder: Path) -> Check:
    return _disk("checkpoints", folder.absolute(), "--checkpoint names another folder")


def temporary_disk() -> Check:
    """Check the folder of temporary files, where programs that games start can have scratch folders."""
    folder, remedy = Path(tempfile.gettempdir()), "TMPDIR names another folder"
    if os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0):
        return Check(
            "warn", "temporary files", f"{folder} is mounted noexec, games cannot start programs there", remedy
        )
    return _disk("temporary files", folder, remedy)


def shared_memory() -> Check:
    """Check the free space in /dev/shm, used by blocks of games in child processes."""
    if not SHARED.is_dir():
        return Check("ok", "shared memory", f"no {SHARED}, temporary files take its place")
    usage = shutil.disk_usage(SHARED)
    found = f"{as_size(usage.free)} of {as_size(usage.total)} free in {SHARED}"
    if usage.free < LOW_SHARED_MB * MB:
        return Check("warn", "shared memory", found, "in a container: --shm-size 256m")
    return Check("ok", "shared memory", found)


def memory() -> Check:
    available = available_memory()
    found = "what is free, this system does not tell" if available is None else f"{as_size(available.amount)} free"
    return Check("ok", "memory", found)


def cores() -> Check:
    return Check("ok", "cores", f"{usable_cores()} usable")


def _disk(name: str, folder: Path, remedy: str) -> Check:
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        return Check("FAIL", name, f"{there} cannot be written to", remedy)
    free = shutil.disk_usage(there).free
    found = f"{as_size(free)} free at {folder}"
    return Check("warn", name, found, f"little; {remedy}") if free < LOW_DISK_MB * MB else Check("ok", name, found)
