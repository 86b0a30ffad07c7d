"""Who sees to it that nothing is left of a child process: neither its own children nor its temporary files.

A keeper is a shell of its own that waits for the end of a pipe. Whatever way this process ends, kill -9 included, the
pipe ends with it, and the shell kills the child's process group and removes its scratch folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

PATIENCE_S: Final = 10.0  # for the shell to remove a folder

# Arguments: the folder, and whether to hunt. Standard input: a line with the process group, then the end. What an
# AppImage had mounted in the folder is let go of first; a folder that was still being written to is removed at the
# second try.
_SCRIPT: Final = """
read -r group && { read -r _; kill -9 "-$group" 2>/dev/null; }
if [ "$2" = hunt ]; then
    for place in /proc/[0-9]*/environ; do
        pid="${place%/environ}"
        grep -qsF "TMPDIR=$1" "$place" && kill -9 "${pid#/proc/}" 2>/dev/null
    done
fi
for mount in "$1"/.mount_*; do fusermount -uz "$mount" 2>/dev/null; done
rm -rf -- "$1" 2>/dev/null || { sleep 0.2; rm -rf -- "$1"; }
"""


class Keeper:
    """The scratch folder of a child process, and the end of both.

    Order of use: make it, start the child in a session of its own with ``environment``, ``watch`` it, ``close``. What
    starts many processes, each where it likes, cannot be watched: ``hunt`` ends whatever runs in the ``environment``.
    """

    def __init__(self, *, hunt: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="selfplay-"))
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "keeper", str(self.folder), "hunt" if hunt else ""],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            shutil.rmtree(self.folder)
            raise

    @property
    def environment(self) -> dict[str, str]:
        """Of the child: its temporary files go into the folder."""
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


def kill_group(pid: int) -> None:
    """Kill a child that leads a process group, and everything in the group. Does not block."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
