"""A run whose event loop is blocked, as a person finds it: ended, explained, without orphans, and resumable."""

import re
import sys

import pytest

from selfplay.checkpoint import RunDir
from selfplay.run.monitoring.watchdog import BLOCKED
from tests.scripts.commands import ENVIRONMENT, ROOT, is_alive, run, wait_for
from tests.scripts.test_train import LONG
from tests.support.processes import finish

BLOCKING = """
import pathlib, sys, time
from selfplay.commands.cli import train
from selfplay.run.loop import TrainingLoop

report, reports = TrainingLoop._report, []

def blocks(self, *arguments):
    reports.append(report(self, *arguments))
    if len(reports) == 4:
        tasks = pathlib.Path("/proc/self/task").iterdir()
        children = " ".join((task / "children").read_text() for task in tasks)
        sys.stdout.write(f"\\nchildren {children}\\n")  # one write, so that no other thread's line comes between
        sys.stdout.flush()
        time.sleep(10**6)

TrainingLoop._report = blocks
sys.exit(train.main())
"""


@pytest.mark.full
def test_a_blocked_loop_ends_the_run_without_orphans_and_the_run_goes_on(tmp_path):
    flags = (
        "--checkpoint",
        "run",
        "--save-interval",
        2,
        "--host",
        "process",
        "--runners",
        2,
        "--set",
        "guard.loop_timeout=5",
    )
    command = [sys.executable, "-c", BLOCKING, *map(str, (*LONG, *flags))]
    environment = {**ENVIRONMENT, "PYTHONPATH": str(ROOT)}
    done = finish(command, cwd=tmp_path, env=environment)
    assert done.returncode == BLOCKED, done.stderr
    sentence, *stacks = done.stderr.splitlines()
    assert re.fullmatch(
        r"The event loop was blocked for 5 s by blocks \(<string>, line \d+\), called by TrainingLoop._iterate "
        r"\(selfplay/run/loop.py, line \d+\); the run ends, --resume goes on",
        sentence,
    )
    assert any("in blocks" in line for line in stacks)
    children = [int(word) for word in re.search(r"^children (.*)$", done.stdout, re.MULTILINE)[1].split()]
    assert len(children) == 4  # two, and the keeper of each
    wait_for(lambda: not any(map(is_alive, children)))
    folder = RunDir(tmp_path / "run")
    assert folder.stacks.read_text().startswith(sentence)
    assert f"{sentence}; it ended at" in run("tree", "run", cwd=tmp_path).stdout
    resumed = run("train_self_play.py", "--resume", "--checkpoint", "run", "--timesteps", 128 * 6, cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert "Resumed at: iteration 4" in resumed.stdout
    assert "finished after 6 iterations; it ended at" in run("tree", "run", cwd=tmp_path).stdout
