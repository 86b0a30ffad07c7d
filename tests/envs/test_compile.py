import sys
from pathlib import Path

import pytest

from envs import compile as compiling
from envs.melee.physics import frame
from tests.support.processes import finish

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


@compiling.rule
def doubled(x):
    return 2.0 * x


@compiling.compiled
def quadrupled(x):
    return doubled(doubled(x))


def test_a_rule_called_from_python_is_refused_by_name():
    with pytest.raises(TypeError, match=r"test_compile\.doubled is a @rule: only compiled functions can call it"):
        doubled(1.0)
    assert quadrupled(1.0) == 4.0


def test_an_uncompiled_rule_can_be_called():
    code = "from envs.melee.physics.motion import clamp; assert clamp(2.0, 1.0) == 1.0"
    environment = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)


def test_is_compiled_tells_whether_a_first_call_would_wait(elsewhere):
    assert compiling.is_compiled(frame.advance_frame) is bool(compiling.numba_config.DISABLE_JIT)
    folder = compiling.cache_folder() / "physics_0123"
    folder.mkdir(parents=True)
    (folder / "frame.advance_frame-105.py311.1.nbc").write_text("")
    assert compiling.is_compiled(frame.advance_frame)
    assert compiling.is_compiled(frame.start_game) is bool(compiling.numba_config.DISABLE_JIT)


def test_uncompiled_rules_need_no_waiting():
    code = "import envs.compile, envs.melee.physics.frame as f; assert envs.compile.is_compiled(f.advance_frame)"
    environment = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": "/nonexistent"}
    finish([sys.executable, "-c", code], env=environment, check=True)
