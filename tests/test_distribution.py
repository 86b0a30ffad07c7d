"""The name under which this project is installed, and that every text names it."""

import importlib.metadata
import re
import tomllib
from types import SimpleNamespace

import pytest

from selfplay import distribution
from selfplay.cli.running import exit_code
from tests.scripts.commands import ROOT, mistake
from tests.support.processes import finish

TEXTS = (".md", ".py", ".toml", ".txt", ".sh", ".yaml", ".yml", "Makefile")
STRANGERS = re.compile(
    r"(?:pip|uv pip|pipx|uv tool) install(?:\s+-\S+)*\s+['\"]?selfplay(?![-\w])"  # a command, also over two lines
    r"|(?<![\w./-])selfplay\[\w+[\],]"  # a requirement with extras
    r"|^\s*selfplay\s*(?:==|>=|~=)",  # a line of requirements
    re.MULTILINE,
)


@pytest.mark.parametrize(
    "text",
    [
        "pip install selfplay", "pip install 'selfplay[ray]'", "needs it (`pip install\nselfplay[dev]`)",
        "pip install -U selfplay==1", "selfplay>=0.1", '"selfplay[dialogue]"', "uv pip install selfplay",
    ],
)  # fmt: skip
def test_the_name_of_another_project_is_recognised(text):
    assert STRANGERS.search(text)
    assert not STRANGERS.search(text.replace("selfplay", "selfplay-arena"))


def test_no_text_installs_the_project_of_somebody_else():
    done = finish(["git", "ls-files", "-z"], cwd=ROOT)
    if done.returncode:
        pytest.skip("git does not list the files of this copy")
    names = [name for name in done.stdout.split("\0") if name.endswith(TEXTS) and name != "tests/test_distribution.py"]
    assert "pyproject.toml" in names
    found = []
    for name in names:
        path = ROOT / name
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        found += [f"{name}:{text[: hit.start()].count(chr(10)) + 1}: {hit[0]}" for hit in STRANGERS.finditer(text)]
    assert not found


def test_pyproject_has_the_name():
    assert tomllib.loads(distribution.CHECKOUT.read_text())["project"]["name"] == distribution.NAME


def test_requirements_of_an_installation(monkeypatch):
    lines = ["numpy>=2.0", "torch>=2.10", 'melee<0.48,>=0.47.6; extra == "dolphin"', "psutil>=6.0; extra == 'dolphin'"]
    monkeypatch.setattr(importlib.metadata, "requires", {distribution.NAME: lines}.__getitem__)
    assert distribution.requirements() == ["numpy>=2.0", "torch>=2.10"]
    assert distribution.requirements("dolphin") == ["melee<0.48,>=0.47.6", "psutil>=6.0"]


def test_requirements_of_a_checkout_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(distribution, "NAME", "not-installed")
    assert "numpy>=2.0" in distribution.requirements()
    assert "psutil>=6.0" in distribution.requirements("dolphin")


def test_the_command_that_installs_an_extra(monkeypatch, tmp_path):
    assert distribution.install_command() == "pip install -e ."
    assert distribution.install_command("ray") == "pip install -e '.[ray]'"
    monkeypatch.setattr(distribution, "CHECKOUT", tmp_path / "pyproject.toml")
    assert distribution.install_command() == f"pip install {distribution.NAME}"
    assert distribution.install_command("ray") == f"pip install '{distribution.NAME}[ray]'"


def test_extras_are_those_for_users(monkeypatch, tmp_path):
    extras = tomllib.loads(distribution.CHECKOUT.read_text())["project"]["optional-dependencies"]
    assert {*distribution.extras()} == {*extras} - {"dev"}
    monkeypatch.setattr(distribution, "CHECKOUT", tmp_path / "pyproject.toml")
    assert {*distribution.extras()} >= {"ray"}, "of the metadata"


@pytest.mark.parametrize(
    ("module", "extra"), [("httpx", "dialogue"), ("scipy.optimize", "dialogue"), ("melee.slippstream", "dolphin")]
)
def test_a_command_whose_extra_is_missing_says_so_in_one_line(module, extra, monkeypatch, capsys):
    def load():
        raise ModuleNotFoundError(name=module)

    monkeypatch.setattr("sys.argv", ["selfplay train"])
    line = mistake(capsys, "selfplay train", lambda: exit_code("selfplay train", load))
    package = module.partition(".")[0]
    assert line == f"selfplay train: {package} is not installed: pip install -e '.[{extra}]'"


@pytest.mark.parametrize("module", ["av_tools", "selfplay.nothing", None])
def test_a_module_that_no_extra_brings_is_a_defect(module):
    def load():
        raise ModuleNotFoundError(name=module)

    with pytest.raises(ModuleNotFoundError):
        exit_code("selfplay train", load)


def test_a_checkout_has_its_own_entry_points_where_another_copy_is_installed(monkeypatch, tmp_path):
    def point(name, value, owner):
        found = importlib.metadata.EntryPoint(name, value, "selfplay.games")
        return found._for(SimpleNamespace(name=owner))

    installed = [point("mine", "other:GAME", "other"), point("mock", "other:MOCK", "other")]
    installed.append(point("gone", "old:GAME", distribution.NAME))
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: installed)
    found = distribution.entry_points("selfplay.games")
    assert found["mine"].value == "other:GAME"
    assert found["mock"].value == "selfplay_melee.kinds:MOCK", "no other package takes a name of ours"
    assert "gone" not in found
    monkeypatch.setattr(distribution, "CHECKOUT", tmp_path / "pyproject.toml")
    assert distribution.entry_points("selfplay.games")["gone"].value == "old:GAME"
