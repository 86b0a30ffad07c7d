"""The command lines of the studies: they start as the documentation names them, and a mistake is one line."""

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.scripts.commands import mistake

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "Makefile", *sorted((ROOT / "docs").rglob("*.md"))]
DOCUMENTED = sorted(
    {
        name
        for page in PAGES
        for name in re.findall(r"python -m scripts\.studies\.([a-z_.]*[a-z])", page.read_text("utf-8"))
    }
)


def main_of(name):
    module = f"scripts.studies.{name}"
    spec = find_spec(module)
    return import_module(f"{module}.__main__" if spec.submodule_search_locations else module).main


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_documented_command_starts(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["study", "--help"])
    with pytest.raises(SystemExit) as end:
        main_of(name)()
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m scripts.studies.{name} ")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("learning", "--seeds a", "--seeds: 'a' is no list of whole numbers such as 0,1,2"),
        ("learning", "--seeds -1", "--seeds"),
        ("shipped", "--parts x", "--parts x: unknown (valid: rate, cards)"),
        ("figures", "--parts x", "--parts x: unknown (valid: shipped, learning, predictions"),
        ("figures", "", "--replays FOLDER is needed for play_style"),
        ("bench", "--rounds 0", "--rounds must be at least 1"),
        ("rivals.bench", "--peers tianshou", "--peers tianshou: unknown"),
        ("rivals.bench", "--rounds 0", "--rounds must be at least 1"),
        ("rivals.bench", "--peers rllib,cleanrl --write", "--write replaces the whole table"),
        ("equilibrium", "--games chess", "--games chess: unknown (valid: kuhn_poker, leduc_poker"),
        ("equilibrium", "--methods dqn", "--methods dqn: unknown (valid: cfr, ppo"),
        ("equilibrium", "--minutes 0", "--minutes is 0; valid: above 0"),
        ("equilibrium", "--jobs 0", "--jobs is 0; valid: 1 or more"),
        ("equilibrium", "--seeds -1", "--seeds"),
        ("kill_resume", "--kills 0", "--kills is 0; valid: 1 or more"),
        ("soak", "--minutes 0", "--minutes must be above 0"),
        ("soak", "--folder .", "exists; name a new one"),
        ("soak", "--game-type chess", "--game-type chess: unknown"),
        ("soak", "--chaos fire=1", "valid kinds"),
        ("soak", "--game-type kuhn_text --chaos kill=0.1", "in processes of their own"),
    ],
)
def test_a_mistake_is_one_line(name, arguments, words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["study", *arguments.split()])
    assert words in mistake(capsys, f"python -m scripts.studies.{name}", main_of(name))
