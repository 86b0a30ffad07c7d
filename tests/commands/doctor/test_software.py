import dataclasses
import platform
import sys
from pathlib import Path

import pytest

from selfplay import distribution
from selfplay.commands.doctor import software
from selfplay.commands.doctor.finding import Check
from tests.commands.doctor.packages import installed, project
from tests.support.kinds import bring


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


def test_a_copy_without_metadata_and_pyproject_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(distribution, "CHECKOUT", tmp_path / "pyproject.toml")
    monkeypatch.setattr(distribution, "NAME", "not-installed")
    finding = software.packages()
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


def test_torch(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert software.torch().found == f"{torch.__version__}, no CUDA device, the processor learns"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"GPU {index}")
    assert software.torch().found == f"{torch.__version__}, GPU 0"
    monkeypatch.setitem(sys.modules, "torch", None)
    assert software.torch().level == "FAIL"


@pytest.mark.parametrize(("at_once", "said"), [(True, "compiled"), (False, "not compiled yet")])
def test_rules(monkeypatch, at_once, said):
    from selfplay.games import registry

    bring(monkeypatch, "mock", dataclasses.replace(registry.find_game("mock"), starts_at_once=lambda: at_once))
    assert software.rules().level == "ok"
    assert software.rules().found.startswith(said)


def test_rules_that_cannot_be_loaded(monkeypatch):
    monkeypatch.setitem(sys.modules, "selfplay.games.registry", None)
    assert software.rules().level == "FAIL"


def test_compile_cache(monkeypatch):
    from selfplay.compilation import code_cache

    monkeypatch.setattr(code_cache, "find_cache", lambda name: code_cache.Cache(Path("/cache")))
    assert software.compile_cache() == Check("ok", "compile cache", "/cache")
    monkeypatch.setattr(code_cache, "find_cache", lambda name: code_cache.Cache(None, "Compiled code is not kept"))
    assert software.compile_cache() == Check("warn", "compile cache", "Compiled code is not kept")
    monkeypatch.setitem(sys.modules, "selfplay.compilation.code_cache", None)
    assert software.compile_cache().level == "FAIL"
