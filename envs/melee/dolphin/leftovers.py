"""What an emulator has started itself, such as the server of an AppImage's files: ended with it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import psutil

MARK: Final = "SELFPLAY_DOLPHIN"
"""Environment variable that all processes of an emulator have: those that it left behind have no parent to tell."""
GRACE_S: Final = 0.5  # in which they end by themselves: an AppImage unmounts its files
KILLED_S: Final = 5.0  # after which one that does not end although it was killed is left to the system
_LOOK_S: Final = 0.01


def end_marked(value: str) -> None:
    """Wait for the end of all processes whose ``MARK`` has this value, and kill those that stay."""
    begun = time.monotonic()
    while (found := list(marked(value))) and (waited := time.monotonic() - begun) < KILLED_S:
        if waited > GRACE_S:
            for process in found:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        time.sleep(_LOOK_S)


def marked(value: str) -> Iterator[psutil.Process]:
    """Running processes of this user with this ``MARK``."""
    user = os.getuid()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            ours = process.uids().real == user and process.environ().get(MARK) == value
            if ours and process.status() != psutil.STATUS_ZOMBIE:
                yield process
