"""Processes that an emulator has left behind."""

import contextlib
import socket
import subprocess
import sys

import pytest

pytest.importorskip("psutil", reason="needs psutil (the extra dolphin)")
from selfplay_melee.dolphin.leftovers import MARK, end_marked, holds_port, marked
from tests.scripts.commands import is_alive, wait_for
from tests.support.processes import Process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")
PIPE = {"stdout": subprocess.PIPE}


def test_processes_with_the_mark_end_and_no_others(tmp_path):
    """One whose parent has ended, and which left session and group, is found all the same."""
    mark, other = str(tmp_path / "a"), str(tmp_path / "ab")
    command = ["/bin/sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!"]
    with contextlib.ExitStack() as shells:
        environments = [{MARK: value, "PATH": "/usr/bin:/bin"} for value in (mark, other)]
        started = [shells.enter_context(Process(command, env=each, **PIPE)) for each in environments]
        pids = [int(shell.stdout.read()) for shell in started]
        wait_for(lambda: [process.pid for process in marked(mark)] == pids[:1])
        end_marked(mark)
        assert [is_alive(pid) for pid in pids] == [False, True]
        end_marked(other)
        assert not is_alive(pids[1])
        end_marked(mark)


def test_whose_port_it_is_stays_open_only_where_no_process_shows_its_mark(tmp_path):
    """As on macOS, which hides the environment of some programs: a Dolphin there must not be refused for that."""
    code = "import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('127.0.0.1', 0)); "
    code += "print(s.getsockname()[1], flush=True); input()"
    value = str(tmp_path)
    with (
        Process([sys.executable, "-c", code], env={MARK: value}, stdin=subprocess.PIPE, **PIPE) as process,
        socket.socket(type=socket.SOCK_DGRAM) as other,
    ):
        port = int(process.stdout.readline())
        other.bind(("127.0.0.1", 0))
        assert holds_port(value, port)
        assert not holds_port(value, other.getsockname()[1])
        assert holds_port(f"{value} of a process that hides it", port)
        process.communicate(b"\n")
