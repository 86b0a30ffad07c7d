"""No test starts a process past the helper that ends it, waits without a limit for one, or starts an endless run."""

import ast
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAMS = {  # run as processes of tests, and end with those
    "tests/checkpoint/kill_loop.py",
    "tests/melee/dolphin/other_dolphin.py",
    "tests/dialogue/language/stub_server.py",
    "tests/supervision/recording/record.py",
    "tests/support/watchdog.py",
}
HELPER = "tests/support/processes.py"
STARTS = {
    "subprocess": {"Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "run"},
    "os": {"fork", "forkpty", "popen", "posix_spawn", "posix_spawnp", "startfile", "system"},
    "pty": {"fork", "spawn"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "multiprocessing": {"Pool", "Process"},
}
MOST_STEPS = 10**6  # at most minutes, should a test not end its run
STEPS = {"--timesteps", "--games", "timesteps", "games"}


def bare_starts(nodes):
    """Lines that start a process past the helper."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in STARTS.get(node.value.id, ()):
                yield node.lineno
        elif isinstance(node, ast.ImportFrom) and STARTS.get(node.module, set()) & {name.name for name in node.names}:
            yield node.lineno


def endless_runs(nodes):
    """Lines that give a run more steps than it could need."""
    for node in nodes:
        found = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
        pairs = [(flag.value, value) for flag, value in pairwise(found) if is_text(flag)]
        if isinstance(node, ast.Call):
            pairs += [(keyword.arg, keyword.value) for keyword in node.keywords]
        yield from (value.lineno for flag, value in pairs if flag in STEPS and number_of(value) > MOST_STEPS)


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def number_of(node):
    """Of an expression such as ``10**9`` or "1000"; 0 of others."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.Mult):
        left, right = number_of(node.left), number_of(node.right)
        return left**right if isinstance(node.op, ast.Pow) else left * right
    value = str(getattr(node, "value", "")).replace("_", "")
    return int(value) if value.isdigit() else 0


@pytest.mark.parametrize(
    ("text", "kind", "count"),
    [
        ("import subprocess\nsubprocess.run(['x'])\nsubprocess.Popen('x')", bare_starts, 2),
        ("import subprocess\nsubprocess.PIPE, subprocess.CompletedProcess", bare_starts, 0),
        ("from subprocess import Popen, PIPE", bare_starts, 1),
        ("os.fork(); os.getpid()", bare_starts, 1),
        ("X = ('--timesteps', 10**9, '--seed', 10**9)", endless_runs, 1),
        ("train('run', '--games', '2000000')", endless_runs, 1),
        ("train('run', timesteps=3 * 10**6)", endless_runs, 1),
        ("train('run', '--timesteps', 10**6, timesteps=4 * ITERATION)", endless_runs, 0),
    ],
)
def test_what_is_found(text, kind, count):
    assert len(list(kind([*ast.walk(ast.parse(text))]))) == count


def test_the_tests_keep_the_rules():
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name, nodes = str(path.relative_to(ROOT)), [*ast.walk(ast.parse(path.read_text()))]
        if name not in PROGRAMS | {HELPER}:
            found += [f"{name}:{line} starts a process: {HELPER} has what ends it" for line in bare_starts(nodes)]
        found += [f"{name}:{line} starts an endless run: at most {MOST_STEPS} steps" for line in endless_runs(nodes)]
    assert found == []
