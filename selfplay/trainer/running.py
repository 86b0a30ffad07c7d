"""How a run ends before its end."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from selfplay.trainer.announcing import Listener

INTERRUPTED: Final = 130  # exit code of a run that Ctrl-C ended


def handle_signals(stop: asyncio.Event, feed: Listener) -> None:
    """First SIGINT or SIGTERM: end after this iteration, saved. Second: at once."""
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            os._exit(INTERRUPTED)  # processes of games end with their pipes
        stop.set()
        feed.notice("Stopping after this iteration, with a checkpoint; Ctrl-C again stops at once")

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
