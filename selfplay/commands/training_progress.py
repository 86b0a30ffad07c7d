"""Follows a training that says nothing itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from envs.files import last_line

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir

EVERY_S: Final = 1.0


@contextmanager
def followed(run: RunDir, at: Callable[[int], object], before: int = 0) -> Iterator[None]:
    """While the block trains a run, call ``at`` every second, from a thread, with ``before`` plus the steps done."""
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(EVERY_S):
            with suppress(ValueError, KeyError):  # the last line is being written
                at(before + int(json.loads(last_line(run.metrics))["total_steps"]))

    thread = threading.Thread(target=follow, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
