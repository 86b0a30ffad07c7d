"""Cleans up after a child process: ends its own children and removes its temporary files.

A reaper is a shell process that waits for the end of a pipe. However this process ends, kill -9 included, the pipe ends
with it, and the shell kills the child's process group and removes its scratch folder. If the shell was killed, too, the
next reaper of this user removes the folder: this process and the shell hold a lock in it while they live. A lock is
safer than a process id, which can be reused.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

PATIENCE_S: Final = 10.0  # for the shell to remove a folder
PREFIX: Final = "selfplay-"
OWNER: Final = ".selfplay-owner"  # file in a folder, locked while its owner lives

# Arguments: the folder, and whether to kill by environment. Standard input: a line with the process group, then the
# end. What an AppImage had mounted in the folder is let go of first; a folder that was still being written to is
# removed at the second try. By environment, any variable counts that names the folder: a process that gives itself a
# title, such as an agent of Ray, writes it over the first of its variables.
_SCRIPT: Final = """
read -r group && { read -r _; kill -9 "-$group" 2>/dev/null; }
if [ "$2" = environment ]; then
    for place in $(grep -lsF "=$1" /proc/[0-9]*/environ); do
        pid="${place%/environ}"
        kill -9 "${pid#/proc/}" 2>/dev/null
    done
fi
for mount in "$1"/.mount_*; do fusermount -uz "$mount" 2>/dev/null; done
rm -rf -- "$1" 2>/dev/null || { sleep 0.2; rm -rf -- "$1"; }
"""


class ProcessReaper:
    """The scratch folder of a child process, and the end of both.

    Order of use: make it, start the child in a session of its own with ``environment``, ``watch`` it, ``close``. What
    starts many processes, each where it likes, cannot be watched: ``by_environment`` ends what has a
    variable that names the folder.
    """

    def __init__(self, *, by_environment: bool = False) -> None:
        remove_orphans()
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = -1
        try:
            self._lock = _locked(self.folder)
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "reaper", str(self.folder), "environment" if by_environment else ""],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=[self._lock],
            )
        except BaseException:
            self._unlock()
            shutil.rmtree(self.folder)
            raise

    @property
    def environment(self) -> dict[str, str]:
        """Environment of the child: TMPDIR is the scratch folder."""
        return {**os.environ, "TMPDIR": str(self.folder)}

    def watch(self, pid: int) -> None:
        """The child has started: ``pid`` leads a process group of its own."""
        if self._shell.stdin is not None:
            with suppress(BrokenPipeError):  # the shell was killed: then closing does what it would have done
                self._shell.stdin.write(f"{pid}\n".encode())
                self._shell.stdin.flush()

    def close(self) -> None:
        """Kill the group, remove the folder. Safe to call again."""
        if self._shell.stdin is not None:
            with suppress(BrokenPipeError):
                self._shell.stdin.close()
        try:
            self._shell.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._shell.kill()
            self._shell.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _locked(folder: Path) -> int:
    """A file descriptor that locks the folder until all copies of it are closed.

    The file has its name once it is locked, so that no folder ever looks as if its owner had ended.
    """
    new = folder / f"{OWNER}.new"
    lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with suppress(OSError):  # a file system without locks: then an ended owner cannot be recognised
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        new.rename(folder / OWNER)
    return lock


def remove_orphans() -> None:
    """Remove scratch folders of this user whose owner and shell were both killed, and what still runs in them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # it is removed meanwhile, or is in use
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                command = ["/bin/sh", "-c", _SCRIPT, "reaper", str(folder), "environment"]
                subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
            finally:
                os.close(lock)


def kill_group(pid: int) -> None:
    """Kill a child that leads a process group, and everything in the group. Does not block."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
