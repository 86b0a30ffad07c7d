import dataclasses
import importlib.metadata
import platform
import sys
from pathlib import Path

import pytest

from selfplay import distribution
from selfplay.commands.doctor import software
from selfplay.commands.doctor.finding import Check
from tests.commands.doctor.plans import plan
from tests.support.kinds import bring


def installed(monkeypatch, **versions):
    """Only these packages are installed."""

    def version(name):
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(importlib.metadata, "version", version)


def project(monkeypatch, tmp_path, text):
    path = tmp_path / "pyproject.toml"
    path.write_text(f"[project]\n{text}\n")
    monkeypatch.setattr(distribution, "CHECKOUT", path)
    monkeypatch.setattr(distribution, "NAME", "not-installed")


@pytest.mark.parametrize(("name", "level"), [("Linux", "ok"), ("Darwin", "ok"), ("Windows", "FAIL")])
def test_system(monkeypatch, name, level):
    monkeypatch.setattr(platform, "system", lambda: name)
    finding = software.system()
    assert finding.level == level
    assert name in finding.found
    assert ("WSL2" in finding.remedy) == (level == "FAIL")


def test_python():
    assert software.python() == Check("ok", "Python", platform.python_version())


def test_the_packages_of_this_project_are_there():
    assert software.packages().level == "ok"  # every requirement is of a form that is understood
    assert software.libmelee(plan()).name == "libmelee"


def test_a_copy_without_metadata_and_pyproject_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(distribution, "CHECKOUT", tmp_path / "pyproject.toml")
    monkeypatch.setattr(distribution, "NAME", "not-installed")
    for finding in (software.packages(), software.libmelee(plan())):
        assert (finding.level, finding.found) == ("warn", software.UNKNOWN)
        assert "pip install" in finding.remedy


@pytest.mark.parametrize(
    ("versions", "level", "said"),
    [
        ({"numpy": "2.1.0", "torch": "2.10.0+cpu"}, "ok", "all 2"),
        ({"numpy": "2", "torch": "2.10"}, "ok", "all 2"),
        ({"numpy": "1.26.4", "torch": "2.10"}, "FAIL", "numpy 1.26.4 is not >=2.0"),
        ({"torch": "2.9.1"}, "FAIL", "numpy is not installed, torch 2.9.1 is not >=2.10"),
    ],
)
def test_packages(monkeypatch, tmp_path, versions, level, said):
    project(monkeypatch, tmp_path, 'dependencies = ["numpy>=2.0", "torch>=2.10"]')
    installed(monkeypatch, **versions)
    finding = software.packages()
    assert finding.level == level
    assert said in finding.found
    assert finding.remedy.startswith("pip install") == (level == "FAIL")


def test_a_requirement_of_another_form_is_our_own_mistake(monkeypatch, tmp_path):
    project(monkeypatch, tmp_path, 'dependencies = ["numpy~=2.0"]')
    with pytest.raises(ValueError, match=r"numpy~=2\.0"):
        software.packages()


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({}, "melee is not installed"),
        ({"melee": "0.46.9"}, "melee 0.46.9 is not >=0.47.6,<0.48"),
        ({"melee": "0.48.0"}, "melee 0.48.0 is not >=0.47.6,<0.48"),
    ],
)
def test_libmelee_is_a_fault_only_where_real_games_are_asked_for(monkeypatch, tmp_path, versions, said):
    project(monkeypatch, tmp_path, 'optional-dependencies.dolphin = ["melee>=0.47.6,<0.48"]')
    installed(monkeypatch, **versions)
    assert software.libmelee(plan()).level == "warn"
    finding = software.libmelee(plan(iso="melee.iso"))
    assert finding.level == "FAIL"
    assert finding.found == said
    assert "pip install -e '.[dolphin]'" in finding.remedy
    installed(monkeypatch, melee="0.47.9")
    assert software.libmelee(plan(iso="melee.iso")).line() == "ok    libmelee: 0.47.9"


def test_torch(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert software.torch().found == f"{torch.__version__}, no CUDA device, the processor learns"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"GPU {index}")
    assert software.torch().found == f"{torch.__version__}, GPU 0"
    monkeypatch.setitem(sys.modules, "torch", None)
    assert software.torch().level == "FAIL"


def test_rules(monkeypatch):
    from selfplay.games import registry

    for at_once, said in ((True, "compiled"), (False, "not compiled yet")):
        entry = dataclasses.replace(registry.find_game("mock"), starts_at_once=lambda now=at_once: now)
        bring(monkeypatch, "mock", entry)
        assert software.rules().level == "ok"
        assert software.rules().found.startswith(said)
    monkeypatch.setitem(sys.modules, "selfplay.games.registry", None)
    assert software.rules().level == "FAIL"


def test_compile_cache(monkeypatch):
    from selfplay.compilation import code_cache

    monkeypatch.setattr(code_cache, "find_cache", lambda: code_cache.Cache(Path("/cache")))
    assert software.compile_cache() == Check("ok", "compile cache", "/cache")
    monkeypatch.setattr(code_cache, "find_cache", lambda: code_cache.Cache(None, "Compiled code is not kept"))
    assert software.compile_cache() == Check("warn", "compile cache", "Compiled code is not kept")
    monkeypatch.setitem(sys.modules, "selfplay.compilation.code_cache", None)
    assert software.compile_cache().level == "FAIL"
