"""What the system and control groups say of memory, from files as Linux and containers have them."""

import os
import resource
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from selfplay import memory_limits
from selfplay.dialogue import train as dialogue
from selfplay.errors import ConfigError
from selfplay.imitation import train as imitation
from selfplay.memory_limits import (
    GB,
    Available,
    as_size,
    available_memory,
    check_address_space,
    resident_memory,
)
from selfplay.ppo import train as ppo

NO_LIMIT_V1 = 9223372036854771712


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Writes files below /proc and /sys/fs/cgroup; nothing is there by default."""
    monkeypatch.setattr(memory_limits, "PROC", tmp_path / "proc")
    monkeypatch.setattr(memory_limits, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setitem(sys.modules, "psutil", None)

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

    return write


@pytest.mark.parametrize(("megabytes", "cores", "fits"), [(1535, 2, False), (1536, 2, True), (2048, 8, False)])
def test_address_space_that_is_too_small_for_the_libraries_is_refused(monkeypatch, megabytes, cores, fits):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: {resource.RLIMIT_AS: (megabytes << 20, -1)}[kind])
    with nullcontext() if fits else pytest.raises(ConfigError, match=rf"ulimit -v {megabytes << 10} allows .* needs"):
        check_address_space(cores)


def test_address_space_without_a_limit_is_enough(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    check_address_space(1000)


@pytest.mark.parametrize("trainer", [ppo, dialogue, imitation], ids=lambda trainer: trainer.__name__)
def test_every_trainer_refuses_such_a_limit_before_all_else(monkeypatch, trainer):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 20, -1))
    with pytest.raises(ConfigError, match="ulimit -v 1024 allows 1 MB of address space, and training needs "):
        trainer.train(None)


def machine_with(system, gigabytes):
    system(proc__meminfo=f"MemTotal: 999 kB\nMemAvailable:   {gigabytes << 20} kB")


def test_nothing_is_known(system, monkeypatch):
    assert available_memory() is None
    psutil = SimpleNamespace(virtual_memory=lambda: SimpleNamespace(available=3 * GB))
    monkeypatch.setitem(sys.modules, "psutil", psutil)
    assert available_memory() == Available(3 * GB, "this machine")


def test_the_machine_alone(system):
    machine_with(system, 2)
    assert available_memory() == (2 * GB, "this machine")


def test_a_container_of_version_2(system):
    machine_with(system, 8)
    system(cgroup__memory_dot_max="max", cgroup__memory_dot_current=GB)
    assert available_memory() == (8 * GB, "this machine")
    system(cgroup__memory_dot_max=3 * GB)
    assert available_memory() == (2 * GB, "this container")
    system(cgroup__memory_dot_stat=f"anon 5\ninactive_file {GB // 2}")  # given up before memory runs out
    assert available_memory() == (2.5 * GB, "this container")
    system(cgroup__memory_dot_max=GB // 4)
    assert available_memory() == (0, "this container")


def test_a_container_of_version_1(system):
    machine_with(system, 8)
    system(cgroup__memory__memory_dot_limit_in_bytes=NO_LIMIT_V1, cgroup__memory__memory_dot_usage_in_bytes=GB)
    assert available_memory() == (8 * GB, "this machine")
    system(cgroup__memory__memory_dot_limit_in_bytes=3 * GB)
    assert available_memory() == (2 * GB, "this container")
    system(cgroup__memory__memory_dot_stat=f"inactive_file 7\ntotal_inactive_file {GB // 2}")
    assert available_memory() == (2.5 * GB, "this container")


@pytest.mark.parametrize(
    ("line", "folder", "limit", "used"),
    [
        ("0::/user/job", "cgroup__user__job", "memory_dot_max", "memory_dot_current"),
        ("0::/user/job", "cgroup__user", "memory_dot_max", "memory_dot_current"),  # it counts for those below it
        ("9:memory:/job", "cgroup__memory__job", "memory_dot_limit_in_bytes", "memory_dot_usage_in_bytes"),
    ],
)
def test_the_group_of_this_process_and_those_above_it(system, line, folder, limit, used):
    machine_with(system, 8)
    system(proc__self__cgroup=line, **{f"{folder}__{limit}": 3 * GB, f"{folder}__{used}": 2 * GB})
    assert available_memory() == (GB, "this container")


def test_what_this_process_has(system):
    assert resident_memory() == 0
    system(proc__self__statm="900 300 200 1 0 100 0")
    assert resident_memory() == 300 * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("amount", "text"), [(5 << 20, "5 MB"), (1.5 * GB, "1.5 GB"), (2000 * GB, "2.0 TB"), (1024**7, "1,024 EB")]
)
def test_sizes(amount, text):
    assert as_size(amount) == text
