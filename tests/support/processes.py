"""Processes that tests start. Each is killed with its whole group when its block is left, and no wait is unlimited.

Limits here end a hang. They say nothing about speed: a busy machine may take a hundred times as long as an idle one.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from pathlib import Path

LIMIT_S = 200.0  # below the time limit of a test, so that the error tells what the process had written


class Output:
    """What a process writes, line by line; each call raises if nothing has come of it within the limit."""

    def __init__(self, pipe, limit_s):
        self._pipe, self._limit_s = pipe, limit_s
        self._read, self._rest = [], b""  # lines that were read, and what has come of the next
        self.ended = False

    def readline(self):
        """The next line, "" at the end."""
        return self._next(time.monotonic() + self._limit_s)

    def read(self):
        """All lines up to the end."""
        return "".join(self.lines())

    def lines(self):
        """All lines up to the end, within the limit."""
        deadline = time.monotonic() + self._limit_s
        return iter(lambda: self._next(deadline), "")

    def __iter__(self):
        return self.lines()

    def _next(self, deadline):
        while b"\n" not in self._rest and not self.ended:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._pipe], [], [], left)[0]:
                raise AssertionError(f"the process wrote no more within {self._limit_s:g} s; so far:\n{self.so_far}")
            data = os.read(self._pipe.fileno(), 1 << 16)
            self._rest += data
            self.ended = not data
        if deadline < time.monotonic():
            raise AssertionError(f"the process did not end within {self._limit_s:g} s; so far:\n{self.so_far}")
        line, end, self._rest = self._rest.partition(b"\n")
        self._read.append((line + end).decode(errors="replace"))
        return self._read[-1]

    @property
    def so_far(self):
        return "".join([*self._read, self._rest.decode(errors="replace")])

    # what Popen asks of a pipe

    def fileno(self):
        return self._pipe.fileno()

    def close(self):
        self._pipe.close()

    @property
    def closed(self):
        return self._pipe.closed


class Process(subprocess.Popen):
    """A process in a session of its own: ``with Process(...)`` kills its whole group, however the block is left."""

    def __init__(self, command, *, limit_s=LIMIT_S, **options):
        self.limit_s = limit_s
        super().__init__(list(map(os.fspath, command)), start_new_session=True, **options)
        if self.stdout is not None:
            self.stdout = Output(self.stdout, limit_s)

    def wait(self, timeout=None):
        return super().wait(self.limit_s if timeout is None else timeout)

    def communicate(self, input=None, timeout=None):
        return super().communicate(input, self.limit_s if timeout is None else timeout)

    def __exit__(self, error, *rest):
        try:
            if error is None and self.stdout is not None and self.stdout.ended:
                self.wait()  # it is about to end by itself
        finally:
            self.end()

    def end(self):
        """Kill the whole group, and reap the process."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        super().wait(LIMIT_S)


def finish(command, *, check=False, limit_s=LIMIT_S, errors="strict", **options):
    """Run a program to its end, as ``subprocess.run`` does with text and both of its outputs.

    ``errors``: what becomes of output that is not UTF-8.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Process(command, limit_s=limit_s, **pipes | options) as process:
        try:
            told = process.communicate()
        except subprocess.TimeoutExpired as error:
            so_far = b"\n".join(filter(None, (error.output, error.stderr))).decode(errors="replace")
            raise AssertionError(f"{command} did not end within {limit_s:g} s; so far:\n{so_far}") from None
    out, err = (None if text is None else text.decode(errors=errors) for text in told)
    assert not check or process.returncode == 0, f"{command} ended with exit code {process.returncode}:\n{err}"
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def read_until(process, words):
    """Lines up to the one that holds ``words``."""
    lines = []
    for line in process.stdout.lines():
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


def wait_for(condition, seconds=LIMIT_S):
    """For what other processes do; they have no clock of ours."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen within {seconds:g} s"
        time.sleep(0.01)
