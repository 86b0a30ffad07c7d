import importlib.util
import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core.caching import NullCache

from scripts.studies.fidelity import hits
from selfplay.compilation import code_cache
from selfplay.compilation import compile as compiling
from selfplay.distribution import package_folder
from selfplay.learner import ppo_kernel
from selfplay_melee import UNCOMPILED
from selfplay_melee.episodes import step_games
from tests.support.processes import Process, finish

ROOT = Path(__file__).parents[2]


_CACHED = (code_cache.find_cache, code_cache.code_name, code_cache.compiled_sources)  # tests replace them


def _forget():
    for function in _CACHED:
        function.cache_clear()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The rules are those of a package in this folder, where the cache can be too, with nothing remembered."""
    (tmp_path / "physics").mkdir()
    (tmp_path / "tables").mkdir()
    (tmp_path / "physics/hit.py").write_text("HARD = 1")
    (tmp_path / "tables/layout.py").write_text("FIELDS = 2")
    monkeypatch.setattr(code_cache, "_PACKAGE", tmp_path)
    monkeypatch.setitem(sys.modules, "rules", SimpleNamespace(__path__=[str(tmp_path)], UNCOMPILED=("drawing", "slp")))
    monkeypatch.setattr(code_cache._numba_config, "CACHE_DIR", "")
    _forget()
    yield tmp_path
    _forget()


@pytest.fixture
def home(elsewhere, monkeypatch, tmp_path):
    """The cache folder of the user, which is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "selfplay"


@pytest.mark.parametrize("file", ["physics/hit.py", "tables/layout.py"])
def test_an_edit_of_any_source_changes_the_cache_folder(home, elsewhere, file):
    before = code_cache.cache_folder("rules")
    _forget()
    assert code_cache.cache_folder("rules") == before
    calls_them = code_cache.cache_folder("studies", "rules")
    (elsewhere / file).write_text("HARD = 3")
    _forget()
    assert code_cache.cache_folder("rules") != before
    assert code_cache.cache_folder("studies", "rules") != calls_them


def test_packages_of_rules_that_a_file_imports_may_be_called(elsewhere):
    assert code_cache.called_packages(elsewhere / "physics/hit.py") == ()
    (elsewhere / "physics/hit.py").write_text("import numpy\nfrom rules.tables import FIELDS\n\n@rule\ndef hit(): ...")
    _forget()
    assert code_cache.called_packages(elsewhere / "physics/hit.py") == ("rules",)
    assert code_cache.called_packages(elsewhere / "physics/beside.py") == ("rules",)


def test_what_rules_import_from_outside_their_folder_is_hashed(elsewhere, monkeypatch):
    melee = package_folder("selfplay_melee")
    rules = [
        text
        for path in melee.rglob("*.py")
        if path.relative_to(melee).parts[0] not in UNCOMPILED
        and re.search(r"^@(rule|compiled)", text := path.read_text(), re.MULTILINE)
    ]
    assert len(rules) > 40
    used = {
        f"{name}.py" for text in rules for name in re.findall(r"^from selfplay\.\w+\.(\w+) import", text, re.MULTILINE)
    }
    assert used - {"api.py", "batches.py", "errors.py"} == {path.name for path in code_cache._SHARED}
    before = code_cache.sources_hash("rules")
    (elsewhere / "rated.py").write_text("FINISHED = 1")
    monkeypatch.setattr(code_cache, "_SHARED", (elsewhere / "rated.py",))
    assert code_cache.sources_hash("rules") != before


def test_compiled_functions_outside_a_package_of_rules_are_hashed_with_those_that_they_import():
    assert compiling._packages(step_games) == ("selfplay_melee",)
    assert compiling._packages(hits._predict) == ("scripts", "selfplay_melee")
    assert compiling._packages(ppo_kernel._surrogate) == ("selfplay",)


@pytest.mark.parametrize("folder", ["drawing", "slp"])
def test_an_edit_of_a_folder_without_rules_keeps_the_cache_folder(elsewhere, folder):
    before = code_cache.sources_hash("rules")
    (elsewhere / folder).mkdir()
    (elsewhere / folder / "frames.py").write_text("FIRST = 1")
    assert code_cache.sources_hash("rules") == before


def test_another_numba_changes_the_cache_folder(elsewhere, monkeypatch):
    before, sources = code_cache.code_name("rules"), code_cache.sources_hash("rules")
    monkeypatch.setattr(code_cache.numba, "__version__", "0.0")
    _forget()
    assert code_cache.code_name("rules") != before
    assert code_cache.sources_hash("rules") == sources


def test_the_users_cache_is_used_and_nobody_else_can_write_to_it(home):
    assert code_cache.cache_folder("rules").parent == home
    assert home.stat().st_mode & 0o777 == 0o700


def test_the_cache_of_a_home_that_cannot_be_written_is_in_the_package(home, elsewhere, monkeypatch):
    monkeypatch.setattr(code_cache, "_is_writable", lambda folder: "home" not in folder.parts)
    assert code_cache.cache_folder("rules").parent == elsewhere / "__pycache__"


@pytest.mark.parametrize("folder", [".", "rules"])
def test_a_cache_folder_that_others_can_write_to_is_not_used(home, elsewhere, monkeypatch, folder):
    monkeypatch.setattr(code_cache, "code_name", lambda package: package)
    (home / folder).mkdir(parents=True)
    (home / folder).chmod(0o775)
    assert code_cache.cache_folder("rules").parent == elsewhere / "__pycache__"


def test_a_cache_folder_of_another_user_is_not_used(home, elsewhere, monkeypatch):
    home.mkdir(mode=0o700, parents=True)
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    assert code_cache.cache_folder("rules").parent == elsewhere / "__pycache__"


def test_a_file_in_the_way_is_not_writable(tmp_path):
    (tmp_path / "file").write_text("")
    assert not code_cache._is_writable(tmp_path / "file" / "cache")
    assert code_cache._is_writable(tmp_path / "new" / "cache")


def test_the_users_numba_cache_wins(elsewhere, monkeypatch, tmp_path):
    monkeypatch.setattr(code_cache._numba_config, "CACHE_DIR", str(tmp_path / "mine"))
    assert code_cache.cache_folder("rules").parent == tmp_path / "mine"


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


@compiling.rule
def scaled(x, by):
    return x * by


@compiling.compiled
def scaled_by_some(x, narrow):
    return scaled(x, 2) + scaled(x, by=3) + scaled(x, narrow)


def test_a_rule_is_compiled_once_for_all_constants_and_widths(monkeypatch):
    monkeypatch.setattr(scaled_by_some, "_cache", NullCache())  # an earlier run may have left its code
    assert scaled_by_some(1.0, np.int32(4)) == 9.0
    assert len(scaled.overloads) == 1


def test_an_uncompiled_rule_can_be_called():
    code = "from selfplay_melee.physics.motion import clamp; assert clamp(2.0, 1.0) == 1.0"
    environment = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    finish([sys.executable, "-c", code], env=environment, check=True)


RULES = """from selfplay.compilation.compile import compiled

@compiled
def twice(x):
    return 2 * x
"""


def loaded(path):
    """A function of ``RULES`` as a new program has it."""
    code_cache.compiled_sources.cache_clear()
    spec = importlib.util.spec_from_file_location("twofold", path)
    module = sys.modules["twofold"] = importlib.util.module_from_spec(spec)  # cached code looks for its module
    spec.loader.exec_module(module)
    return module.twice


@pytest.fixture
def first(tmp_path, monkeypatch):
    """A file of ``RULES``, and an empty cache."""
    if compiling.numba_config.DISABLE_JIT:
        pytest.skip("nothing is compiled")
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(compiling, "cache_folder", lambda package: tmp_path / "cache")
    monkeypatch.setattr(compiling, "shipped_folder", lambda package: None)
    path = tmp_path / "first.py"
    path.write_text(RULES)
    return path


@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("damage", [b"", b"\x80\x04K", b"no pickle"], ids=str)
def test_damaged_code_is_compiled_anew(first, tmp_path, kind, damage):
    assert loaded(first)(2) == 4
    (file,) = (tmp_path / "cache").rglob(kind)
    file.write_bytes(damage)
    assert loaded(first)(2) == 4
    (file,) = (tmp_path / "cache").rglob(kind)
    assert file.read_bytes() != damage
    again = loaded(first)
    assert again(2) == 4
    assert sum(again.stats.cache_hits.values()) == 1


def test_code_that_came_with_the_package_is_used_where_it_runs(first, tmp_path, monkeypatch):
    assert loaded(first)(2) == 4
    (tmp_path / "cache").rename(tmp_path / "shipped")
    monkeypatch.setattr(compiling, "shipped_folder", lambda package: tmp_path / "shipped")
    (tmp_path / "cache").mkdir()
    assert compiling.is_compiled(loaded(first))
    function = loaded(first)
    assert function(2) == 4
    assert sum(function.stats.cache_hits.values()) == 1
    assert not list((tmp_path / "cache").rglob("*.nbc"))
    weaker = dict.fromkeys(compiling.llvm.get_host_cpu_features(), False)
    monkeypatch.setattr(compiling.llvm, "get_host_cpu_features", lambda: weaker)
    assert not compiling.is_compiled(loaded(first))
    assert loaded(first)(2) == 4
    assert list((tmp_path / "cache").rglob("*.nbc"))


def test_code_for_another_processor_does_not_run_here():
    triple = compiling.llvm.get_process_triple()
    features = compiling.llvm.get_host_cpu_features()
    here = [name for name, is_there in features.items() if is_there]
    assert compiling.runs_here(triple, "generic", ",".join(f"+{name}" for name in here))
    assert not compiling.runs_here(triple, "generic", "+one_of_next_year")
    assert not compiling.runs_here(f"other-{triple}", "generic", "")


def test_processes_that_start_together_compile_once(first, tmp_path):
    code = (
        "import sys, pathlib; from selfplay.compilation import compile as c;"
        "from tests.compilation.test_compile import loaded;"
        "c.cache_folder = lambda package: pathlib.Path(sys.argv[2]); f = loaded(sys.argv[1]); f(2);"
        "print(sum(f.stats.cache_hits.values()))"
    )
    command = [sys.executable, "-c", code, first, tmp_path / "cache"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with ExitStack() as stack:
        pipes = {"stdout": subprocess.PIPE, "env": environment}
        starts = [stack.enter_context(Process(command, **pipes)) for _ in range(2)]
        assert sorted(int(start.communicate()[0]) for start in starts) == [0, 1]


def test_is_compiled_tells_whether_a_first_call_would_wait(first, tmp_path):
    function = loaded(first)
    assert not compiling.is_compiled(function)
    assert function(2) == 4
    assert compiling.is_compiled(function), "compiled in this program"
    assert compiling.is_compiled(loaded(first)), "kept for the next one"

    moved = tmp_path / "elsewhere" / "first.py"
    moved.parent.mkdir()
    shutil.copy(first, moved)
    assert compiling.is_compiled(loaded(moved)), "the path of the source does not matter"
    assert loaded(moved)(3) == 6

    first.write_text(f"{RULES}# changed\n")
    assert not compiling.is_compiled(loaded(first)), "the source has changed since"
    shutil.copy(moved, first)
    assert compiling.is_compiled(loaded(first))
    called = moved.with_name("called.py")
    called.write_text(RULES)
    assert not compiling.is_compiled(loaded(moved)), "compiled code of its folder may be called, and has changed"
    called.write_text("PLAIN = 1")
    assert compiling.is_compiled(loaded(moved))

    for file in (tmp_path / "cache").rglob("*.nbc"):
        file.unlink()
    assert not compiling.is_compiled(loaded(first)), "the index alone is not the code"


def test_a_function_without_a_cache_is_not_compiled_before_its_first_call():
    function = compiling._njit(abs_of)
    assert compiling.is_compiled(function) is bool(compiling.numba_config.DISABLE_JIT)
    assert function(-1) == 1
    assert compiling.is_compiled(function)


def test_uncompiled_rules_need_no_waiting():
    code = (
        "import selfplay.compilation.compile as c, selfplay_melee.physics.frame as f;"
        "assert c.is_compiled(f.advance_frame)"
    )
    environment = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": "/nonexistent"}
    finish([sys.executable, "-c", code], env=environment, check=True)


@pytest.fixture
def nowhere(elsewhere, monkeypatch, tmp_path):
    """Neither the package nor the home can be written to; the folder of temporary files, which can."""
    (elsewhere / "__pycache__").write_text("")
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(elsewhere / "__pycache__"))
    for name in ("NUMBA_CACHE_DIR", code_cache._TOLD):
        monkeypatch.setenv(name, "")  # both are put back after the test
        monkeypatch.delenv(name)
    monkeypatch.setattr(compiling.numba_config, "DISABLE_JIT", 0)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(code_cache.tempfile, "tempdir", str(temporary))
    return temporary


def test_where_nothing_else_can_be_written_the_cache_is_a_private_temporary_folder(nowhere, capsys):
    cache = code_cache.find_cache("rules-1")
    assert cache.folder == nowhere / f"selfplay-{os.getuid()}" / "rules-1"
    assert cache.folder.parent.stat().st_mode & 0o777 == 0o700
    (line,) = capsys.readouterr().err.splitlines()
    assert line == cache.trouble
    assert f"is kept in {cache.folder.parent}" in line
    assert os.environ["NUMBA_CACHE_DIR"] == str(cache.folder.parent)  # for child processes


def test_only_the_first_process_says_that_the_cache_is_elsewhere(nowhere, capsys, monkeypatch):
    monkeypatch.setenv(code_cache._TOLD, "1")
    assert code_cache.find_cache("rules-1").trouble
    assert capsys.readouterr().err == ""


def _open_to_all(folder):
    folder.mkdir()
    folder.chmod(0o777)


def _a_link(folder):
    folder.with_name("planted").mkdir(mode=0o700)
    folder.symlink_to(folder.with_name("planted"))


@pytest.mark.parametrize("plant", [_open_to_all, _a_link, Path.touch])
def test_a_temporary_folder_that_another_user_may_have_made_is_not_used(nowhere, capsys, plant):
    plant(nowhere / f"selfplay-{os.getuid()}")
    assert code_cache.cache_folder("rules") is None
    assert "is not kept, so that each start compiles again" in capsys.readouterr().err


def test_a_temporary_folder_of_another_user_is_not_used(nowhere, monkeypatch):
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    (nowhere / f"selfplay-{os.getuid()}").mkdir(mode=0o700)
    assert code_cache.cache_folder("rules") is None


def test_a_user_without_a_home_folder_has_a_cache(nowhere, monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    assert code_cache.cache_folder("rules").is_relative_to(nowhere)


@pytest.mark.parametrize("decorate", [compiling.compiled, compiling.kernel])
def test_without_any_cache_functions_compile(nowhere, decorate):
    _open_to_all(nowhere / f"selfplay-{os.getuid()}")
    function = decorate(abs_of)
    assert not compiling.is_compiled(function)
    assert function(-2) == 2


@pytest.mark.full
def test_an_install_and_a_home_that_cannot_be_written_run_every_import(tmp_path):
    """With folders that are files, which root cannot write to either."""
    for package in ("envs", "selfplay"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [tmp_path, *tmp_path.rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").write_text("")
    (tmp_path / "temporary").mkdir()
    environment = {"PYTHONPATH": str(tmp_path), "HOME": "/dev/null", "TMPDIR": str(tmp_path / "temporary")}
    code = "import selfplay.games.registry, selfplay.learner.ppo_kernel"
    done = finish([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"Compiled code is kept in {tmp_path / 'temporary'}")
