import json
import sys
from itertools import combinations

import pytest

from envs.melee import bots
from scripts.studies import round_robin

PAGE = "before\n<!-- round robin: begin -->\nold\n<!-- round robin: end -->\nafter\n"


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["round_robin.py", "--games", "2", "--max-episode-frames", "60", *map(str, words)])
    return round_robin.main()


def test_it_plays_every_pair_and_keeps_the_figures(monkeypatch, tmp_path, capsys):
    page = tmp_path / "bots.md"
    page.write_text(PAGE, "utf-8")
    assert run(monkeypatch, "--json", tmp_path / "figures.json", "--page", page) == 0
    figures = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert {(pair["b"], pair["a"]) for pair in figures["pairs"]} == set(combinations(bots.LADDER, 2))
    assert figures["versions"]["bots"] == bots.VERSION
    assert "--games 2" in figures["command"]
    text = page.read_text("utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert f"against {bots.LADDER[0]}" in text
    assert bots.LADDER[-1] in capsys.readouterr().out


def test_a_page_without_markers_is_left_alone(monkeypatch, tmp_path, capsys):
    page = tmp_path / "bots.md"
    page.write_text("nothing to replace\n", "utf-8")
    assert run(monkeypatch, "--page", page) != 0
    assert "markers" in capsys.readouterr().err
    assert page.read_text("utf-8") == "nothing to replace\n"


@pytest.mark.parametrize("words", [("--character", "goomba"), ("--stage", "moon"), ("--games", "1")])
def test_impossible_values_are_refused_in_one_line(monkeypatch, capsys, words):
    assert run(monkeypatch, *words) == 2
    assert capsys.readouterr().err.count("\n") == 1
