"""Start a program that ends with its parent process on Linux; on other systems only start it.

Run as ``python launch.py PROGRAM ARGUMENTS...``: the process becomes the program.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shlex
import signal
import sys
from pathlib import Path
from typing import Final

PR_SET_PDEATHSIG: Final = 1
LOG: Final = "dolphin.log"


def guarded(program: Path, folder: Path) -> Path:
    """Write a script into ``folder`` that starts the program so; its output goes to ``dolphin.log`` there."""
    script, log = folder / "dolphin", folder / LOG
    words = shlex.join([sys.executable, "-I", "-S", str(Path(__file__).resolve()), str(program)])
    script.write_bytes(os.fsencode(f'#!/bin/sh\nexec {words} "$@" </dev/null >{shlex.quote(str(log))} 2>&1\n'))
    script.chmod(0o700)
    return script


def main() -> None:
    """Replace this process by the program."""
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))  # the worker's own limit is not for the program
        if os.getppid() != parent:  # it ended meanwhile
            sys.exit(1)
    try:
        os.execv(sys.argv[1], sys.argv[1:])
    except OSError as error:
        sys.exit(f"{sys.argv[1]}: {error.strerror}")


if __name__ == "__main__":
    main()
