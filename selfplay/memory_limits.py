"""Memory that this machine, or its container, has left for this process."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from selfplay.errors import ConfigError

PROC: Final = Path("/proc")
CGROUPS: Final = Path("/sys/fs/cgroup")
GB: Final = 1 << 30
_MB: Final = 1 << 20
ADDRESSES: Final = 1536 * _MB
"""Address space of a trainer with two cores: with 1300 MB Kuhn poker trains, with 1250 MB it does not."""
ADDRESSES_EACH: Final = 128 * _MB  # more for each further core: stacks, heaps of threads, buffers of OpenBLAS


class Available(NamedTuple):
    """Bytes that may still be allocated, and where that limit comes from."""

    amount: int
    where: str


def available_memory() -> Available | None:
    """The least of what the system and the limits of its control groups leave; None where neither is known."""
    found = [*_of_system(), *_of_container()]
    return min(found, default=None)


def check_address_space(cores: int) -> None:
    """Refuse a limit of address space (``ulimit -v``) that libraries of training do not fit into.

    Not all of them fail: OpenBLAS tries forever to allocate its buffers while it is loaded, and holds the lock of the
    interpreter, so that the process neither ends nor reacts to signals.
    """
    limit, need = resource.getrlimit(resource.RLIMIT_AS)[0], ADDRESSES + max(0, cores - 2) * ADDRESSES_EACH
    if limit != resource.RLIM_INFINITY and limit < need:
        raise ConfigError(
            f"ulimit -v {limit >> 10} allows {as_size(limit)} of address space, and training needs {as_size(need)}: "
            f"set at least ulimit -v {need >> 10}, or limit the memory of a container"
        )


def resident_memory() -> int:
    """Bytes that this process has in memory already; 0 where the system does not say."""
    try:
        return int((PROC / "self" / "statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def as_size(amount: float) -> str:
    """Such as ``1.5 GB``; in TB, PB and so on where it is more."""
    if amount < GB:
        return f"{amount / _MB:.0f} MB"
    amount /= GB
    for unit in ("GB", "TB", "PB"):
        if amount < 1024:
            return f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:,.0f} EB"


def _of_system() -> Iterator[Available]:
    where = "this machine"
    try:
        for line in (PROC / "meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                yield Available(int(line.split()[1]) * 1024, where)
                return
    except OSError:
        pass  # no Linux
    with suppress(ImportError):  # not everywhere
        import psutil

        yield Available(int(psutil.virtual_memory().available), where)


def _of_container() -> Iterator[Available]:
    """Memory left by each control group above this process, for cgroup versions 2 and 1."""
    for folder, limit_file, used_file, reclaimable in _groups():
        try:
            limit = int((folder / limit_file).read_text(encoding="ascii"))  # "max" is no number
            used = int((folder / used_file).read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
        yield Available(max(0, limit - used + _cached(folder, reclaimable)), "this container")


def _groups() -> Iterator[tuple[Path, str, str, str]]:
    """Folders of control groups that may limit memory, with the names of their files and of the reclaimable cache."""
    try:
        lines = (PROC / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    paths = {parts[1]: parts[2] for line in lines if len(parts := line.split(":", 2)) == 3}
    new = "memory.max", "memory.current", "inactive_file "
    old = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "
    for controllers, root, files in (("", CGROUPS, new), ("memory", CGROUPS / "memory", old)):
        inside = Path(paths.get(controllers, "/").lstrip("/"))  # of a container's own view: nothing
        for folder in (inside, *inside.parents):
            yield (root / folder, *files)


def _cached(folder: Path, name: str) -> int:
    """Bytes of files in memory that the system gives up before it runs out."""
    try:
        lines = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
        return next((int(line.removeprefix(name)) for line in lines if line.startswith(name)), 0)
    except (OSError, ValueError):
        return 0
