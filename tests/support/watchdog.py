"""Ends a test session that hangs: ``python -m tests.support.watchdog ARGUMENTS_OF_PYTEST``.

When no test has finished for ``LIMIT_S``, it prints what each process of the session is doing, with the stacks of all
threads, kills the session with everything that it started, and exits with code 1. The command runs outside of pytest
and the stacks are written by a signal handler in C, so that neither a blocked controller nor a thread that holds the
interpreter's lock can stop it. This module is also the plugin that tells the command where each process stands.
"""

import contextlib
import faulthandler
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

LIMIT_S = 600.0
DUMP_S = 10.0  # at most, for the processes to write their stacks
MARK = "SELFPLAY_TEST_SESSION"  # folder of the session, in the environment of all its processes

# ---- in the processes of pytest


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests():
    """Before anything of the suite is imported, which may hang as well."""
    name = os.environ.get("PYTEST_XDIST_WORKER", "main process")
    _note("has run no test")
    (_folder() / f"{os.getpid()}.name").write_text(name)
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, (_folder() / f"{os.getpid()}.stacks").open("w"))


def pytest_collection():
    _note("collects tests")


def pytest_runtest_logstart(nodeid):
    _note(f"runs {nodeid}")


def pytest_runtest_logfinish(nodeid):
    _note(f"has finished {nodeid}")
    (_folder() / "finished").touch()


def _folder():
    return Path(os.environ[MARK])


def _note(words):
    with contextlib.suppress(OSError):  # a full disk ends no test
        (_folder() / f"{os.getpid()}.does").write_text(words)


# ---- the command


def main(arguments):
    limit_s = math.inf if {"--pdb", "--trace"} & set(arguments) else LIMIT_S
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    with tempfile.TemporaryDirectory(prefix="test-session-") as name:
        folder = Path(name)
        finished = folder / "finished"
        finished.touch()
        command = [sys.executable, "-m", "pytest", "-p", "tests.support.watchdog", *arguments]
        session = subprocess.Popen(command, env={**os.environ, MARK: name})
        try:
            while time.time() - finished.stat().st_mtime <= limit_s:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return session.wait(1.0)
            sys.stderr.write(f"\n\n==== No test has finished for {limit_s:g} s: the session is killed.\n")
            sys.stderr.write(_standing(session.pid, folder))
            return 1
        finally:
            _kill(session, name)


def _end(number, frame):
    """Ends the command at SIGTERM and at the second Ctrl-C: the first is for pytest, which gets it as well."""
    if number == signal.SIGINT:
        signal.signal(signal.SIGINT, lambda *_: _end(signal.SIGTERM, None))
        return
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def _standing(pid, folder):
    """What the processes of a session do, and what else they have started."""
    known = {int(file.stem): file.read_text() for file in folder.glob("*.name")}
    known = {pid: name for pid, name in known.items() if _command(pid)}
    for each in known:
        if hasattr(faulthandler, "register"):
            os.kill(each, signal.SIGUSR1)
    _await_stacks([folder / f"{each}.stacks" for each in known])
    lines = []
    for each, name in sorted(known.items(), key=lambda item: item[1]):
        does = folder / f"{each}.does"
        stacks = folder / f"{each}.stacks"
        lines.append(f"\n== {name} (process {each}) {does.read_text()} ({time.time() - does.stat().st_mtime:.0f} s)\n")
        lines.append((stacks.read_text() if stacks.exists() else "") or "It wrote no stacks.\n")
    others = sorted(_members(folder) - set(known) - {pid, os.getpid()})
    lines.append(f"\n== {len(others)} other processes\n")
    return "".join([*lines, *(f"{each}: {_command(each)}\n" for each in others)])


def _await_stacks(files):
    """Until all have been written to, and no more comes."""
    deadline, before, sizes = time.monotonic() + DUMP_S, None, None
    while time.monotonic() < deadline and not (before == sizes and sizes is not None and all(sizes)):
        time.sleep(0.3)
        before, sizes = sizes, [file.stat().st_size for file in files if file.exists()]


def _kill(session, name):
    """Everything that runs with the mark of a session in its environment, in whatever process group."""
    for _ in range(5):  # they may be starting others
        for pid in _members(name) - {os.getpid()}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    session.kill()
    session.wait(10)


def _members(name):
    """Process ids with the mark in their environment; none where the system has no /proc."""
    mark, found = f"{MARK}={name}".encode(), set()
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if mark in place.read_bytes().split(b"\0"):
                found.add(int(place.parent.name))
    return found


def _command(pid):
    """Its command line; empty once it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()[:200]
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
