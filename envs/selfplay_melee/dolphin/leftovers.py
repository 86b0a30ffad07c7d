"""End the processes that an emulator has started, such as the file server of an AppImage."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import psutil

MARK: Final = "SELFPLAY_DOLPHIN"
"""Environment variable that all processes of an emulator have, with which orphans are found."""
GRACE_S: Final = 0.5  # for them to end by themselves: an AppImage unmounts its files
KILLED_S: Final = 5.0  # after which killed processes that do not end are abandoned
_LOOK_S: Final = 0.01


def end_marked(value: str) -> None:
    """Wait for the end of all processes with this ``MARK``, then kill the rest."""
    begun = time.monotonic()
    while (found := list(marked(value))) and (waited := time.monotonic() - begun) < KILLED_S:
        if waited > GRACE_S:
            for process in found:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        time.sleep(_LOOK_S)


def holds_port(value: str, port: int) -> bool:
    """Whether a process with this ``MARK`` has a UDP port; True if the system does not report it."""
    told = False
    for process in marked(value):
        try:
            sockets = process.net_connections("udp")
        except psutil.AccessDenied:
            return True
        except psutil.NoSuchProcess:
            continue
        if any(one.laddr and one.laddr.port == port for one in sockets):
            return True
        told = True
    return not told  # on macOS some programs' environments are hidden, so that none is found


def marked(value: str) -> Iterator[psutil.Process]:
    user = os.getuid()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            ours = process.uids().real == user and process.environ().get(MARK) == value
            if ours and process.status() != psutil.STATUS_ZOMBIE:
                yield process
