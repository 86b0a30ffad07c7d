import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from envs import compile as compiling

ROOT = Path(__file__).parents[2]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The module looks at a copy of the sources, with nothing remembered."""
    (tmp_path / "physics").mkdir()
    (tmp_path / "tables").mkdir()
    (tmp_path / "physics/hit.py").write_text("HARD = 1")
    (tmp_path / "tables/layout.py").write_text("FIELDS = 2")
    monkeypatch.setattr(compiling, "_MELEE", tmp_path)
    monkeypatch.setattr(compiling.numba_config, "CACHE_DIR", "")
    compiling.cache_folder.cache_clear()
    yield tmp_path
    compiling.cache_folder.cache_clear()


@pytest.mark.parametrize("file", ["physics/hit.py", "tables/layout.py"])
def test_an_edit_of_any_source_changes_the_cache_folder(elsewhere, file):
    before = compiling.cache_folder()
    compiling.cache_folder.cache_clear()
    assert compiling.cache_folder() == before
    (elsewhere / file).write_text("HARD = 3")
    compiling.cache_folder.cache_clear()
    assert compiling.cache_folder() != before


@pytest.mark.parametrize("folder", ["dolphin", "drawing", "slp"])
def test_an_edit_of_a_folder_without_rules_keeps_the_cache_folder(elsewhere, folder):
    before = compiling.sources_hash()
    (elsewhere / folder).mkdir()
    (elsewhere / folder / "frames.py").write_text("FIRST = 1")
    assert compiling.sources_hash() == before


def test_another_numba_changes_the_cache_folder(elsewhere, monkeypatch):
    before = compiling.sources_hash()
    monkeypatch.setattr(compiling.numba, "__version__", "0.0")
    assert compiling.sources_hash() != before


def test_a_package_that_cannot_be_written_uses_the_users_cache(elsewhere, monkeypatch, tmp_path):
    monkeypatch.setattr(compiling, "_is_writable", lambda folder: elsewhere not in folder.parents)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert compiling.cache_folder().is_relative_to(tmp_path / "home" / "selfplay")


def test_a_file_in_the_way_is_not_writable(tmp_path):
    (tmp_path / "file").write_text("")
    assert not compiling._is_writable(tmp_path / "file" / "cache")
    assert compiling._is_writable(tmp_path / "new" / "cache")


def test_the_users_numba_cache_wins(elsewhere, monkeypatch, tmp_path):
    monkeypatch.setattr(compiling.numba_config, "CACHE_DIR", str(tmp_path / "mine"))
    assert compiling.cache_folder().parent == tmp_path / "mine"


def test_numbas_setting_is_left_as_it_was():
    before = compiling.numba_config.CACHE_DIR
    compiling.compiled(abs_of)
    assert before == compiling.numba_config.CACHE_DIR


def abs_of(x):
    return abs(x)


RULES = """from envs.compile import compiled

@compiled
def twice(x):
    return 2 * x
"""


@pytest.mark.skipif(bool(compiling.numba_config.DISABLE_JIT), reason="nothing is compiled")
def test_is_compiled_tells_whether_a_first_call_would_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path / "cache")

    def loaded(path):
        """The function as a new program has it."""
        spec = importlib.util.spec_from_file_location("twofold", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.twice

    first = tmp_path / "first.py"
    first.write_text(RULES)
    function = loaded(first)
    assert not compiling.is_compiled(function)
    assert function(2) == 4
    assert compiling.is_compiled(function), "compiled in this program"
    assert compiling.is_compiled(loaded(first)), "kept for the next one"

    second = tmp_path / "second.py"
    shutil.copy2(first, second)
    assert not compiling.is_compiled(loaded(second)), "Numba looks for the code of a copy in another folder"

    first.write_text(f"{RULES}# changed\n")
    assert not compiling.is_compiled(loaded(first)), "the source has changed since"
    shutil.copy2(second, first)
    assert compiling.is_compiled(loaded(first))

    for file in (tmp_path / "cache").rglob("*.nbc"):
        file.unlink()
    assert not compiling.is_compiled(loaded(first)), "the index alone is not the code"


def test_a_function_without_a_cache_is_not_compiled_before_its_first_call():
    function = compiling._njit(abs_of)
    assert compiling.is_compiled(function) is bool(compiling.numba_config.DISABLE_JIT)
    assert function(-1) == 1
    assert compiling.is_compiled(function)


def test_uncompiled_rules_need_no_waiting():
    code = "import envs.compile, envs.melee.physics.frame as f; assert envs.compile.is_compiled(f.advance_frame)"
    environment = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": "/nonexistent"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)
