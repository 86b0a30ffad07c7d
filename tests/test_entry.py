"""Scripts and the command print one line with the command to type if Python is too old or packages are missing."""

import ast
import re
import sys
import tomllib

import pytest

from selfplay import distribution, entry
from tests.scripts.commands import ROOT, mistake
from tests.support.cases import first_alone
from tests.support.processes import finish

SCRIPTS = sorted((ROOT / "scripts").glob("[a-z]*.py"))
STARTS = {"python -m selfplay": ["-m", "selfplay"], **{path.name: [str(path)] for path in SCRIPTS}}
PRETEND = """
import runpy, sys
sys.version_info = (3, 9, 18)
_, start, *sys.argv = [*sys.argv, "--help"]
sys.path.insert(0, ".")
try:
    if start == "-m":
        runpy.run_module("selfplay", run_name="__main__", alter_sys=True)
    runpy.run_path(start, run_name="__main__")
finally:
    print(*sorted(name for name in sys.modules if name.split(".")[0] in ("selfplay", "selfplay_melee", "numpy")))
"""

WITHOUT_POSIX = """
import os, runpy, sys
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
for name in ("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fork", "getuid", "killpg", "register_at_fork"):
    delattr(os, name)
import selfplay, selfplay.games, selfplay.league, selfplay.learner, selfplay.supervision
print(selfplay.__version__)
sys.platform = "win32"
sys.argv = ["selfplay", *sys.argv[1:]]
runpy.run_module("selfplay", run_name="__main__")
"""


def project():
    return tomllib.loads(distribution.CHECKOUT.read_text())["project"]


def without_torch(monkeypatch, root):
    """A Python without torch starts a script of the checkout in that folder."""
    monkeypatch.setattr(entry, "ROOT", root)
    monkeypatch.setattr(sys, "argv", ["train_self_play.py"])
    monkeypatch.setitem(sys.modules, "torch", None)


def test_what_is_needed_is_what_the_project_declares():
    declared = [re.match(r"[\w-]+", line)[0] for line in project()["dependencies"]]
    assert [*entry.PACKAGES] == declared
    assert project()["requires-python"] == f">={'.'.join(map(str, entry.OLDEST))}"


@pytest.mark.parametrize(
    "path", [*SCRIPTS, *(ROOT / "selfplay" / f"{name}.py" for name in ("__init__", "__main__", "entry"))]
)
def test_python_3_6_can_read(path):
    tree = ast.parse(path.read_text(), feature_version=(3, 6))
    assert "__future__" not in [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]


@pytest.mark.parametrize("start", first_alone(STARTS))
def test_an_old_python_loads_nothing_else(start):
    done = finish([sys.executable, "-E", "-S", "-c", PRETEND, *STARTS[start]], cwd=ROOT)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith(f"{start}: Python 3.11 or newer is needed, this is 3.9.18; type: ")
    assert set(done.stdout.split()) <= {"selfplay", "selfplay.entry"}


@pytest.mark.parametrize("start", first_alone(STARTS))
def test_packages_that_are_missing_are_named(start):
    words = ["train"] if start == "python -m selfplay" else []
    done = finish([sys.executable, "-E", "-S", *STARTS[start], *words], cwd=ROOT)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert line.startswith(
        f"{' '.join([start, *words])}: not installed in {sys.executable}: {', '.join(entry.PACKAGES)}; "
    )


@pytest.mark.full
@pytest.mark.parametrize("verb", ["--help", "train"])
def test_on_windows_libraries_and_help_work_and_verbs_name_what_is_needed(verb):
    done = finish([sys.executable, "-c", WITHOUT_POSIX, verb], cwd=ROOT)
    version, _, said = done.stdout.partition("\n")
    assert version == distribution.version(), done.stderr
    if verb == "--help":
        assert (done.returncode, done.stderr) == (0, "")
        assert said.startswith("usage: ")
    else:
        (line,) = done.stderr.splitlines()
        assert (done.returncode, said) == (2, "")
        assert "Linux or macOS is needed, or the Windows Subsystem for Linux; type: wsl --install" in line


def test_the_environment_is_made_and_activated(monkeypatch, tmp_path, capsys):
    without_torch(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    told = f"train_self_play.py: not installed in {sys.executable}: torch; type: "
    assert (
        mistake(capsys, "train_self_play.py", lambda: entry.run("train"))
        == told + "make .venv && source .venv/bin/activate"
    )
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "activate").touch()
    assert mistake(capsys, "train_self_play.py", lambda: entry.run("train")) == told + "source .venv/bin/activate"
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))  # it is active, and lacks torch
    assert mistake(capsys, "train_self_play.py", lambda: entry.run("train")) == told + "pip install -e ."


def test_from_another_folder(monkeypatch, tmp_path, capsys):
    root = tmp_path / "my clone"
    root.mkdir()
    without_torch(monkeypatch, root)
    monkeypatch.chdir(tmp_path)
    line = mistake(capsys, "train_self_play.py", lambda: entry.run("train"))
    assert line.endswith("; type: make -C 'my clone' .venv && source 'my clone/.venv/bin/activate'")
    monkeypatch.setattr(sys, "version_info", (3, 10, 1))
    line = mistake(capsys, "train_self_play.py", lambda: entry.run("train"))
    assert "make -C 'my clone' .venv PYTHON=python3.12 && source" in line


def test_a_wheel_names_the_package(monkeypatch, tmp_path, capsys):
    without_torch(monkeypatch, tmp_path)
    monkeypatch.setattr(distribution, "CHECKOUT", tmp_path / "pyproject.toml")
    assert mistake(capsys, "train_self_play.py", lambda: entry.run("train")).endswith(
        "; type: pip install selfplay-arena"
    )
