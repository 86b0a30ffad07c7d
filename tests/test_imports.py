"""Rules about imports that matter at run time; ``lint-imports`` holds the rest."""

import ast
import sys
from pathlib import Path

import pytest

from selfplay.verbs import VERBS
from tests.support.processes import finish

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("scripts.studies.charts", "matplotlib"),
        ("envs", "torch"),
        ("envs.dialogue.contract", "scipy.optimize"),
        ("envs.registry", "scipy.optimize"),
        ("envs.registry", "pettingzoo"),
        ("envs.pettingzoo_games", "pettingzoo"),
        ("envs.melee.controller", "selfplay"),
        ("selfplay", "torch"),
        ("selfplay.checkpoint", "torch"),
        ("selfplay.league", "torch"),
        ("selfplay.replays.batches", "torch"),
        ("selfplay.report", "torch"),
        ("selfplay.supervision", "numpy"),
        *((f"selfplay.commands.cli.{verb.replace('-', '_')}", "numpy") for verb in VERBS),
    ],
)
def test_import_leaves_out(module, absent):
    code = f"import sys, {module}; sys.exit({absent!r} in sys.modules)"
    assert finish([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_a_thread_can_import_what_trains_after_the_main_thread_has_ended():
    code = """
import threading, selfplay
def late():
    threading.main_thread().join()
    import concurrent.futures.thread
    print("imported")
threading.Thread(target=late).start()
"""
    assert finish([sys.executable, "-c", code], cwd=ROOT).stdout == "imported\n"


def test_supervision_imports_only_the_standard_library():
    foreign = {
        f"{path.name}: {name}"
        for path in sorted((ROOT / "selfplay" / "supervision").glob("*.py"))
        for name in _imported(path)
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith("selfplay.supervision")
    }
    assert not foreign


def _imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module
