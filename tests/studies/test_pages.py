import json
import re

import pytest

from scripts.studies.charts import COLOURS
from scripts.studies.learning import chart, opponents, table
from scripts.studies.pages import put_between, write_page
from selfplay.cli.ppo import parse
from selfplay.errors import ConfigError
from selfplay_melee import bots


def test_only_what_stands_between_the_markers_changes(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- x: begin -->\nold\n<!-- x: end -->\nafter\n")
    put_between(page, "x", "new")
    put_between(page, "x", "newer")
    assert page.read_text() == "before\n<!-- x: begin -->\nnewer\n<!-- x: end -->\nafter\n"


def test_a_page_without_the_markers_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("no markers\n")
    with pytest.raises(ConfigError, match="no markers named 'x'"):
        put_between(page, "x", "new")
    assert page.read_text() == "no markers\n"


def test_figures_are_kept_and_shown(tmp_path):
    (tmp_path / "trainer/internals").mkdir(parents=True)
    (tmp_path / "trainer/internals/performance.md").write_text("<!-- measured: begin -->\n<!-- measured: end -->\n")
    for figures in (
        {"processor": "A", "steps_per_s": 1.0},
        {"processor": "B", "share": 0.123456},
        {"processor": "A", "cores": 2, "steps_per_s": 51234.5},
    ):
        write_page(tmp_path, "bench.json", "measured", figures)
    kept = json.loads((tmp_path / "data" / "bench.json").read_text())
    assert kept["A"]["steps_per_s"] == 51234.5
    text = (tmp_path / "trainer/internals/performance.md").read_text()
    assert "| figure | A | B |" in text
    assert "| `cores` | 2 |  |" in text
    assert "| `steps_per_s` | 51,234 |  |" in text
    assert "| `share` |  | 0.123 |" in text


def cell(seed):
    result = {"score": 0.9, "low": 0.85, "high": 0.94, "finished": 0.8}
    return {
        "seed": seed,
        "mode": "pfsp",
        "held_out": ["counter_hitter"],
        "scores": {"gen_0": result} | dict.fromkeys(bots.LADDER, result),
        "total_steps": 12_000_000,
        "training_s": 600.0,
        "steps_per_s_median": 20_000.0,
        "steps_per_iteration": 8192,
        "processor": "a processor",
        "cores": 2,
        "date": "2026-01-01",
        "curve": [{"iteration": 0, "elo": 1500.0, "low": 1400.0, "high": 1600.0}],
        "bots": {"random": 1500.0},
        "leaderboard": {
            "games": 1234,
            "draw_share": 0.25,
            "progress": {"rating": 900.0, "low": 800.0, "high": 1000.0, "superiority": 0.9999},
            "fit": {"misfit_p": None if seed else 0.25},
        },
    }


def test_the_table_has_a_column_a_seed_and_names_who_was_never_met():
    lines = table([cell(0), cell(1)]).splitlines()
    assert lines[0] == "| opponent | seed 0 | seed 1 |"
    opponents, score = lines[2].split(" |", 1)
    assert opponents.startswith("| gen_0, random, walker")
    assert "counter_hitter (unknown to training)" in opponents
    assert score == " 90.0% [85.0%, 94.0%]; 80% finished | 90.0% [85.0%, 94.0%]; 80% finished |"
    assert any("newest above gen_0, Elo +900 [+800, +1000], likelihood 99.99%" in line for line in lines)
    assert "| misfit, p | 0.25 | too few games to tell |" in lines


def test_who_was_never_met_follows_from_the_mode():
    assert opponents(parse(["--mode", "pfsp", "--held-out", "rusher"]).config)["held_out"] == ["rusher"]
    assert opponents(parse(["--mode", "latest"]).config) == {"mode": "latest", "held_out": list(bots.LADDER)}


def test_the_chart_draws_points_with_an_open_interval_too():
    open_ended = cell(0)
    open_ended["curve"].append({"iteration": 5, "elo": 2500.0, "low": 1400.0, "high": None})
    drawn = re.findall(rf'<path d="([^"]*)"[^>]*fill: none; stroke: {COLOURS[0]}', chart([open_ended]))
    assert next(path.count("L") for path in drawn if "M" in path) == 1
