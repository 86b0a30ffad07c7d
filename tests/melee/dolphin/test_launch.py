"""A program that was started so ends with who started it, and what it said is known."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from selfplay.games.files import last_line
from selfplay_melee.dolphin.launch import LOG, guarded
from tests.scripts.commands import is_alive, wait_for
from tests.support.processes import Process, finish

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")


def program(folder, body):
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_it_becomes_the_program_with_its_arguments(tmp_path):
    script = guarded(program(tmp_path, 'echo "$0 has $# arguments: $2"; echo also this >&2; exit 7'), tmp_path)
    done = finish([script, "-e", "a file"])
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")
    assert (tmp_path / LOG).read_text() == f"{tmp_path / 'program'} has 2 arguments: a file\nalso this\n"
    assert last_line(tmp_path / LOG) == "also this"


def test_a_program_in_a_folder_whose_name_is_not_utf_8(tmp_path):
    folder = tmp_path / os.fsdecode(b"program's \xff")
    folder.mkdir()
    assert finish([guarded(program(folder, "exit 7"), folder)]).returncode == 7


def test_a_limit_of_the_worker_s_memory_is_not_the_program_s(tmp_path):
    script = guarded(program(tmp_path, "ulimit -S -d; ulimit -H -d"), tmp_path)
    finish(["/bin/sh", "-c", f"ulimit -S -d 4000000; exec '{script}'"], check=True)
    soft, hard = (tmp_path / LOG).read_text().split()
    assert soft == hard


def test_it_ends_with_who_started_it(tmp_path):
    script = guarded(program(tmp_path, "exec sleep 600"), tmp_path)
    code = f"""
        import subprocess, time
        print(subprocess.Popen([{str(script)!r}]).pid, flush=True)
        time.sleep(600)
    """
    with Process([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        wait_for(lambda: "sleep" in Path(f"/proc/{pid}/cmdline").read_text())
        os.kill(parent.pid, signal.SIGKILL)
        wait_for(lambda: not is_alive(pid))


def test_a_program_that_is_not_there(tmp_path):
    script = guarded(tmp_path / "none", tmp_path)
    assert finish([script]).returncode == 1
    assert last_line(tmp_path / LOG) == f"{tmp_path / 'none'}: No such file or directory"


def test_last_words(tmp_path):
    assert last_line(tmp_path / LOG) == ""
    (tmp_path / LOG).write_bytes(b"first\n" + b"x" * (1 << 20) + b"\nlast \xff one\n\n")
    assert last_line(tmp_path / LOG) == "last � one"
    (tmp_path / LOG).write_bytes(b"")
    assert last_line(tmp_path / LOG) == ""
