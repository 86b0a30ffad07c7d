import json
import sys
from itertools import combinations

import pytest

from scripts.studies import round_robin
from selfplay_melee import bots

PAGE = "before\n<!-- round robin: begin -->\nold\n<!-- round robin: end -->\nafter\n"


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["round_robin.py", "--games", "2", "--max-episode-frames", "60", *map(str, words)])
    return round_robin.main()


def test_it_plays_every_pair_and_keeps_the_figures(monkeypatch, tmp_path, capsys):
    page, made = tmp_path / "docs/melee/bots.md", tmp_path / "round_robin.json"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE, "utf-8")
    monkeypatch.setattr(round_robin, "ROOT", tmp_path)
    monkeypatch.setattr(round_robin, "DOCUMENT", made)
    assert run(monkeypatch, "--write") == 0
    figures = json.loads(made.read_text("utf-8"))
    assert {(pair["b"], pair["a"]) for pair in figures["pairs"]} == set(combinations(bots.LADDER, 2))
    assert figures["versions"]["bots"] == bots.VERSION
    assert "--games 2" in figures["command"]
    text = page.read_text("utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert f"against {bots.LADDER[0]}" in text
    assert bots.LADDER[-1] in capsys.readouterr().out


@pytest.mark.parametrize("words", [("--character", "goomba"), ("--stage", "moon"), ("--games", "1")])
def test_impossible_values_are_refused_in_one_line(monkeypatch, capsys, words):
    assert run(monkeypatch, *words) == 2
    assert capsys.readouterr().err.count("\n") == 1
