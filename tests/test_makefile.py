"""What make installs before what it runs, as ``make -n`` prints it."""

import os
import shutil

import pytest

from tests.scripts.commands import ROOT
from tests.support.processes import finish

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make")

PROGRAM, TESTS = " -c constraints.txt -e .\n", " -c constraints.txt -e '.[dev,dolphin,dialogue]'\n"


@pytest.fixture
def clone(tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def planned(clone, *words):
    """The commands that make would run there."""
    done = finish(["make", "-n", *words], cwd=clone, env={**os.environ, "MAKEFLAGS": ""})
    assert done.returncode == 0, done.stderr
    return done.stdout


def installed(clone, *stamps):
    (clone / ".venv").mkdir()
    for stamp in stamps:
        (clone / ".venv" / stamp).touch()


def test_training_installs_the_program_alone(clone):
    commands = planned(clone, "train")
    assert commands.count(PROGRAM) == 1
    assert TESTS not in commands


@pytest.mark.parametrize(("imports_write", "written"), [("", False), ("1", True)])
def test_byte_code_is_written_where_imports_write_none(clone, monkeypatch, imports_write, written):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", imports_write)
    for words, flag in ((("UV=",), "--no-compile"), (("UV=uv",), "--compile-bytecode")):
        assert (flag in planned(clone, "train", *words)) is (written == (flag == "--compile-bytecode"))


@pytest.mark.parametrize("target", ["test", "test-all", "check"])
def test_tests_need_more(clone, target):
    installed(clone, ".installed")
    commands = planned(clone, target)
    assert commands.count(TESTS) == 1
    assert PROGRAM not in commands


@pytest.mark.parametrize("target", ["train", "test"])
def test_nothing_is_installed_twice(clone, target):
    installed(clone, ".installed", ".installed-for-tests")
    assert "--quiet" not in planned(clone, target)


def test_the_site_has_its_fights_before_it_is_built(clone):
    installed(clone, ".installed")
    commands = planned(clone, "docs")
    steps = [
        "-e '.[docs]'",
        "selfplay watch expert --out build/fights/fight.html",
        "--out build/fights/play.html",
        "mkdocs build",
    ]
    places = [commands.index(step) for step in steps]
    assert places == sorted(places)


def test_a_new_list_of_versions_is_installed(clone):
    installed(clone, ".installed", ".installed-for-tests")
    os.utime(clone / "constraints.txt", (2**31, 2**31))
    commands = planned(clone, "test")
    assert commands.index(PROGRAM) < commands.index(TESTS)


@pytest.mark.parametrize(
    ("uv", "command"),
    [
        ("", ".venv/bin/python -m pip --disable-pip-version-check install "),
        ("uv", "uv pip install --python .venv/bin/python "),
    ],
)
def test_both_installers_read_one_list_of_versions(clone, uv, command):
    first, second = [
        line for line in planned(clone, f"UV={uv}", "TORCH_INDEX=https://x", "train").splitlines() if "--quiet" in line
    ]
    assert first.startswith(command)
    assert " --no-deps --index-url https://x torch==" in first
    assert second.startswith(command)
    assert "--extra-index-url https://x " in second
    assert second.endswith(PROGRAM.strip())
    assert ("--index-strategy unsafe-best-match" in second) == bool(uv)  # pip has no such option
