"""The scripts as a person runs them, in a folder of their own: within this process, or in one of their own."""

import contextlib
import io
import os
import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from selfplay.runner.worker import Worker

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONUNBUFFERED": "1"}


def command(script, *arguments):
    return [sys.executable, str(ROOT / "scripts" / script), *map(str, arguments)]


def run(script, *arguments, cwd):
    """Run to its end within this process, which has imported torch already."""
    out, err, threads = io.StringIO(), io.StringIO(), torch.get_num_threads()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.chdir(cwd)
        patch.setattr(sys, "argv", [script, *map(str, arguments)])
        patch.setattr(sys, "path", [*sys.path])
        for name, value in {"OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_NUM_THREADS": "1"}.items():
            patch.setenv(name, value)  # as the scripts do, for as long as they run
        patch.setattr(Worker, "abandoned", 0)  # threads that other tests left hanging
        try:
            runpy.run_path(str(ROOT / "scripts" / script), run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code or 0
        finally:
            torch.set_num_threads(threads)
    return subprocess.CompletedProcess([script, *arguments], code, out.getvalue(), err.getvalue())


def run_process(script, *arguments, cwd):
    """Run to its end in a process of its own."""
    return subprocess.run(
        command(script, *arguments),
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )


def mistake(capsys, script, call):
    """What is told of a mistake: one line on the error stream, nothing else, and exit code 2."""
    try:
        code = call()
    except SystemExit as end:
        code = end.code
    told = capsys.readouterr()
    assert code == 2
    assert told.out == ""
    (line,) = told.err.splitlines()
    assert line.startswith(f"{script}: ")
    return line


def start(script, *arguments, cwd):
    """Start, with a pipe to read its lines from."""
    return subprocess.Popen(
        command(script, *arguments),
        cwd=cwd,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )


def read_until(process, words):
    """Lines up to the one that holds ``words``."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError(f"{words!r} never came:\n{''.join(lines)}")


def children_of(pid):
    """Process ids of the children of a process."""
    return [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(condition, seconds=10.0):
    """For what other processes do; they have no clock of ours."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
