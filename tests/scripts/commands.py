"""Commands and scripts as a person runs them, in a folder of their own: within this process, or in one of their own."""

import contextlib
import io
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from selfplay.__main__ import main
from selfplay.runner.worker import Worker
from tests.support.processes import (
    Process,
    children_of,
    finish,
    is_alive,
    read_until,
    wait_for,
)

__all__ = [
    "children_of", "command", "finish", "is_alive", "mistake", "read_until", "run", "run_process", "run_shell", "start",
    "wait_for",
]  # fmt: skip

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}


def command(name, *arguments):
    """``python scripts/NAME`` of a script, ``python -m selfplay NAME`` of a verb."""
    program = [str(ROOT / "scripts" / name)] if name.endswith(".py") else ["-m", "selfplay", name]
    return [sys.executable, *program, *map(str, arguments)]


def run(name, *arguments, cwd):
    """Run to its end within this process, which has imported torch already; a verb as ``selfplay NAME``."""
    is_script = name.endswith(".py")
    words = [name, *map(str, arguments)]
    out, err, threads = io.StringIO(), io.StringIO(), torch.get_num_threads()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.chdir(cwd)
        patch.setattr(sys, "argv", words if is_script else ["selfplay", *words])
        patch.setattr(sys, "path", [*sys.path])
        for variable, value in {"OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_NUM_THREADS": "1"}.items():
            patch.setenv(variable, value)  # as the scripts do, for as long as they run
        patch.setattr(Worker, "abandoned", 0)  # threads that other tests left hanging
        try:
            if is_script:
                runpy.run_path(str(ROOT / "scripts" / name), run_name="__main__")
            else:
                sys.exit(main())
            code = 0
        except SystemExit as end:
            code = end.code or 0
        finally:
            torch.set_num_threads(threads)
    return subprocess.CompletedProcess([name, *arguments], code, out.getvalue(), err.getvalue())


NOTE = """#!/bin/sh
printf '%s\\0' "$#" "$PWD" "$@" >> "$(dirname "$0")/calls"
"""


def run_shell(command, *, folder, cwd, env):
    """Run a shell command whose Python programs run afterwards, in order: scripts within this process.

    They must need nothing of each other in the shell: it gets no output of theirs, and goes on as if each had ended
    well. ``folder`` holds the stand-in for Python.
    """
    folder.mkdir(exist_ok=True)
    python, calls = folder / "python", folder / "calls"
    python.write_text(NOTE)
    python.chmod(0o755)
    calls.write_text("")
    path = {"PYTHON": str(python), "PATH": f"{folder}:{os.environ['PATH']}"}
    done = finish(command, cwd=cwd, env={**env, **path})
    code, out, err = done.returncode, done.stdout, done.stderr
    words = calls.read_text().split("\0")[:-1]
    while words and code == 0:
        count = int(words[0])
        place, called, words = Path(words[1]), words[2 : 2 + count], words[2 + count :]
        if called[0].endswith(".py"):
            done = run(Path(called[0]).name, *called[1:], cwd=place)
        else:
            done = finish([sys.executable, *called], cwd=place, env=env)
        code, out, err = done.returncode, out + done.stdout, err + done.stderr
    return subprocess.CompletedProcess(command, code, out, err)


def run_process(name, *arguments, cwd):
    """Run to its end in a process of its own."""
    return finish(command(name, *arguments), cwd=cwd, env=ENVIRONMENT)


def mistake(capsys, program, call):
    """What is told of a mistake: one line on the error stream, nothing else, and exit code 2."""
    try:
        code = call()
    except SystemExit as end:
        code = end.code
    told = capsys.readouterr()
    assert code == 2
    assert told.out == ""
    (line,) = told.err.splitlines()
    assert line.startswith(f"{program}: ")
    return line


def start(name, *arguments, cwd):
    """Start, with a pipe to read its lines from."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return Process(command(name, *arguments), cwd=cwd, env=ENVIRONMENT, **pipes)
