import os
import shutil
import tempfile
from collections import namedtuple
from types import SimpleNamespace

import pytest

from selfplay.commands.doctor import resources
from selfplay.memory_limits import Available

Usage = namedtuple("Usage", "total used free")
GB = 1 << 30


@pytest.fixture
def free(monkeypatch):
    """Sets what every disk has left."""
    return lambda amount: monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(64 * GB, 0, amount))


def test_checkpoints_of_a_folder_that_is_yet_to_be_made(tmp_path, free):
    folder = tmp_path / "runs" / "first"
    free(2 * GB)
    assert resources.checkpoint_disk(folder).line() == f"ok    checkpoints: 2.0 GB free at {folder}"
    free(5 << 20)
    finding = resources.checkpoint_disk(folder)
    assert finding.level == "warn"
    assert finding.found.startswith("5 MB free")
    assert "--checkpoint" in finding.remedy
    assert not folder.parent.exists()


def test_checkpoints_where_nobody_may_write(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    finding = resources.checkpoint_disk(tmp_path / "runs")
    assert finding.level == "FAIL"
    assert f"{tmp_path} cannot be written to" in finding.found


def test_checkpoints_below_a_file(tmp_path):
    (tmp_path / "runs").touch()
    assert resources.checkpoint_disk(tmp_path / "runs" / "first").level == "FAIL"


def test_temporary_files(tmp_path, monkeypatch, free):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    free(2 * GB)
    monkeypatch.setattr(os, "ST_NOEXEC", 8, raising=False)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=0))
    assert resources.temporary_disk().line() == f"ok    temporary files: 2.0 GB free at {tmp_path}"
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=8))
    finding = resources.temporary_disk()
    assert finding.level == "warn"
    assert "noexec" in finding.found
    assert "TMPDIR" in finding.remedy


def test_shared_memory(tmp_path, monkeypatch, free):
    monkeypatch.setattr(resources, "SHARED", tmp_path / "shm")
    assert "temporary files take its place" in resources.shared_memory().found
    (tmp_path / "shm").mkdir()
    free(64 << 20)
    assert resources.shared_memory().found == f"64 MB of 64.0 GB free in {tmp_path / 'shm'}"
    free(8 << 20)
    finding = resources.shared_memory()
    assert finding.level == "warn"
    assert "--shm-size" in finding.remedy


def test_memory_and_cores(monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: None)
    assert "does not tell" in resources.memory().found
    monkeypatch.setattr(resources, "available_memory", lambda: Available(GB, "this machine"))
    assert resources.memory().line() == "ok    memory: 1.0 GB free"
    monkeypatch.setattr(resources, "usable_cores", lambda: 2)
    assert resources.cores().line() == "ok    cores: 2 usable"
