"""Tiny suites that hang, each in its way, under the watchdog with a short limit."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.processes import Process, finish, is_alive, wait_for
from tests.support.watchdog import _members

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc"),
    pytest.mark.full,
]
COMMAND = (sys.executable, "-m", "tests.support.watchdog", "-p", "no:cacheprovider", "-c", os.devnull)
ROOT = Path(__file__).parents[3]

GOOD = "def test_good():\n    pass\n"
HANG = """
import ctypes, os, time
import pytest

def hang():
    while True:  # the limit is over at once, whatever else finishes
        os.utime(os.environ["SELFPLAY_TEST_SESSION"] + "/finished", (0, 0))
        time.sleep(0.1)
"""
FIXTURE = """
@pytest.fixture(scope="session")
def never_made():
    hang()

def test_it(never_made):
    pass
"""
LOCKED = """
def test_it():
    os.utime(os.environ["SELFPLAY_TEST_SESSION"] + "/finished", (0, 0))
    while True:
        ctypes.PyDLL(None).sleep(600)  # keeps the interpreter's lock
"""
BLOCKED = """
def pytest_sessionfinish(session):
    hasattr(session.config, "workerinput") or hang()
"""
WORKERS = ("-n", "2", "--dist", "loadfile")
HANGS = {  # its file, more arguments, the process that hangs, what it does, where
    "a test": ("test_it.py", "def test_it():\n    hang()\n", WORKERS, "gw", "runs test_it.py::test_it", "in test_it"),
    "a session fixture": ("test_it.py", FIXTURE, (), "main", "runs test_it.py::test_it", "in never_made"),
    "collection": ("test_it.py", "hang()\n", WORKERS, "gw", "collects tests", "in <module>"),
    "a lock that is held": ("test_it.py", LOCKED, (), "main", "runs test_it.py::test_it", "in test_it"),
    "the controller": ("conftest.py", BLOCKED, WORKERS, "main", "has finished test_o", "in pytest_sessionfinish"),
}  # fmt: skip


def watched(folder, *arguments, files):
    """What starts a tiny suite under the watchdog."""
    for name, text in files.items():
        (folder / name).write_text(textwrap.dedent(text))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return {"command": [*COMMAND, *arguments], "cwd": folder, "env": environment | {"PYTHONPATH": str(ROOT)}}


@pytest.mark.parametrize(("name", "text", "arguments", "who", "does", "where"), HANGS.values(), ids=HANGS)
def test_a_suite_that_hangs_is_ended_and_told_about(tmp_path, name, text, arguments, who, does, where):
    done = finish(**watched(tmp_path, *arguments, files={"test_other.py": GOOD, name: HANG + text}))
    assert done.returncode == 1
    assert "No test has finished for 600 s" in done.stderr
    told = [part for part in done.stderr.split("\n== ") if part.startswith(who) and f") {does}" in part]
    assert [part for part in told if where in part]


CHILD = """
import subprocess, time

def test_it():
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    with open("pid", "w") as file:
        file.write(str(child.pid))
    END()
"""


def test_what_the_tests_had_started_is_named_and_killed(tmp_path):
    done = finish(**watched(tmp_path, "-n", "1", files={"test_it.py": HANG + CHILD.replace("END", "hang")}))
    pid = int((tmp_path / "pid").read_text())
    assert f"{pid}: sleep 600\n" in done.stderr
    assert not is_alive(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_that_is_ended_takes_its_session_with_it(tmp_path, number):
    options = watched(tmp_path, "-n", "1", files={"test_it.py": CHILD.replace("END()", "time.sleep(600)")})
    with Process(**options, stdout=subprocess.DEVNULL) as watchdog:
        wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        wait_for(lambda: watchdog.send_signal(number) or watchdog.poll() is not None)  # the first Ctrl-C is for pytest
        assert watchdog.returncode == 128 + signal.SIGTERM
        assert not is_alive(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(("text", "code"), [(GOOD, 0), ("def test_bad():\n    assert False\n", 1), ("", 5)])
def test_otherwise_it_is_as_if_it_were_not_there(tmp_path, text, code):
    done = finish(**watched(tmp_path, files={"test_it.py": text}))
    assert done.returncode == code
    assert done.stderr == ""


def test_members_are_those_with_the_mark(tmp_path):
    with Process(["sleep", "600"], env={"SELFPLAY_TEST_SESSION": str(tmp_path)}) as child:
        wait_for(lambda: _members(tmp_path) == {child.pid})
    assert _members(tmp_path) == set()
