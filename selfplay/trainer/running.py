"""A run's life: its tree to the end, and how it ends before that."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from selfplay.errors import SelfPlayError

if TYPE_CHECKING:
    from selfplay.report.reporter import Feed
    from selfplay.supervision import Supervisor
    from selfplay.trainer.announcing import Announcer, Listener

INTERRUPTED: Final = 130  # exit code of a run that Ctrl-C ended


class RunTree(Protocol):
    """The supervision tree of a run."""

    root: Supervisor
    announcer: Announcer


Tree = TypeVar("Tree", bound=RunTree)


async def run_tree(
    make: Callable[[asyncio.Event], Tree], feed: Feed, finish: Callable[[Tree, float], object]
) -> tuple[Tree, int]:
    """Run a tree to its end; it, and the exit code. The feed is left open.

    Args:
        make: Gives the tree, which ends its work when the event is set.
        feed: Is told of signals.
        finish: Says how it was, with the seconds that it took; blocks. Not called where the run failed.

    Raises:
        SelfPlayError: the run failed; names the first cause.
    """
    stop = asyncio.Event()
    tree = make(stop)
    handle_signals(stop, feed)
    started = time.monotonic()
    await tree.root.start()
    reason = await tree.root.wait()
    if tree.announcer.first_cause is not None or not reason.clean:
        raise SelfPlayError(f"the run failed: {tree.announcer.first_cause or reason.message}")
    code = INTERRUPTED if stop.is_set() else 0
    await asyncio.to_thread(finish, tree, time.monotonic() - started)
    return tree, code


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
