"""The wall clock dates what people read, and measures nothing: a jump of it changes no run."""

import ast
import json
import time
from itertools import cycle
from pathlib import Path

from selfplay.checkpoint import RunDir
from tests.run.runs import ITERATION, hashes, rows, train

ROOT = Path(__file__).parents[2]
WALL = {("time", "time"), ("time", "time_ns"), ("time", "localtime"), ("time", "ctime"), ("datetime", "now"),
        ("datetime", "utcnow"), ("datetime", "today"), ("date", "today")}  # fmt: skip
DATED = {
    "envs/selfplay_melee/slp/encode.py": "encode",
    "selfplay/examples/minimal.py": "freeze",
    "selfplay/report/leaderboard_page/page.py": "page",
    "selfplay/report/files.py": "__init__ _write write_ratings",
    "selfplay/report/outputs.py": "reporters",
    "selfplay/report/plain.py": "__init__",
    "selfplay/run/lifecycle.py": "_finish _run_document",
    "scripts/studies/bench/loop.py": "_save",
    "scripts/studies/live_cost.py": "measure",
    "selfplay/run/monitoring/crash_log.py": "__init__",
    "selfplay/dialogue/files/training.py": "_meta",
    "selfplay/dialogue/learning.py": "freeze",
    "selfplay/dialogue/rating.py": "record",
    "selfplay/dialogue/embedded.py": "embedded_model",
    "selfplay/imitation/app.py": "_start",
    "selfplay/imitation/export.py": "export",
    "selfplay/imitation/training_state.py": "save",
    "selfplay/ppo/learner.py": "policy",
    "scripts/studies/pages.py": "machine_here",
    "selfplay/ppo/rating.py": "record_of",
    "selfplay/run/saving.py": "write_state",
    "envs/selfplay_melee/play/added_games.py": "_keep",
    "scripts/studies/gallery.py": "build",
    "selfplay/run/monitoring/watchdog.py": "_report",
    "scripts/studies/engine_match.py": "measure",
    "scripts/release/__main__.py": "_run",
    "selfplay/commands/live_page.py": "_look",
}
"""Where the wall clock is asked: functions by module. All date a record, a row or a line, or tell the age of a file."""


def asked(tree, function="module"):
    """Functions of a module that mention a wall clock, called or handed on; the innermost, and the class alone."""
    for node in ast.iter_child_nodes(tree):
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in WALL:
                yield function
        elif isinstance(node, ast.ImportFrom):  # by its bare name it would not be found
            yield from (function for alias in node.names if (node.module, alias.name) in WALL)
        yield from asked(node, node.name if named else function)


def test_the_wall_clock_is_asked_where_something_is_dated_and_nowhere_else():
    found = {
        (str(path.relative_to(ROOT)), function)
        for folder in ("selfplay", "envs", "scripts")
        for path in (ROOT / folder).rglob("*.py")
        for function in asked(ast.parse(path.read_text()))
    }
    assert found == {(path, function) for path, functions in DATED.items() for function in functions.split()}


def test_a_wall_clock_that_jumps_changes_nothing_but_dates(tmp_path, monkeypatch):
    size = ("--timesteps", 3 * ITERATION, "--deterministic", "--save-interval", 1)
    assert train(tmp_path / "calm", *size)[0] == 0
    jumps, asked = cycle([0.0, 3e8, -3e8, 1e5]), []
    real = time.time
    monkeypatch.setattr(time, "time", lambda: asked.append(1) or real() + next(jumps))
    began = time.monotonic()
    code, text = train(tmp_path / "jumping", *size, "--collect-timeout", 600)
    seconds = time.monotonic() - began
    assert code == 0, text
    assert asked
    assert hashes(tmp_path / "calm") == hashes(tmp_path / "jumping")
    calm, jumping = (rows(tmp_path / name / "metrics.jsonl") for name in ("calm", "jumping"))
    assert calm == jumping
    summary = RunDir(tmp_path / "jumping").read_summary()
    assert 0 < summary["elapsed_s"] <= seconds
    assert 0 < summary["session_s"] <= seconds
    assert summary["restarts"] == 0
    assert json.loads((tmp_path / "jumping" / "tree.json").read_text())["ended"] == "finished"
