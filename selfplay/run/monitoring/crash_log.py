"""Writes ``crashes.jsonl`` and ``tree.json`` of a run, in a thread of its own.

Nothing here can end or delay the run: what cannot be written is counted, and reported once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from selfplay.checkpoint.store import write_file
from selfplay.run.monitoring.crash_file import append_crash
from selfplay.run.monitoring.tree_status import TreeObserver
from selfplay.runner.worker import Worker

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.report.tree_status import TreeStatus
    from selfplay.supervision import Report
    from selfplay.supervision.node import Node

TICK_S: Final = 1.0  # between looks whether anything has changed
BEAT: Final = 10  # ticks after which the state is written although nothing has: a kill is dated by it
WAITING: Final = 100  # reports that may wait for the disk
LAST_S: Final = 5.0  # for what is left at the end; a disk that hangs must not keep the program


class CrashLog:
    """Begins to write at once; all methods are called from the loop. What cannot be written has one ``notice``."""

    def __init__(
        self,
        run: RunDir,
        root: Node,
        notice: Callable[[str], object],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.unwritten = 0  # crash reports
        self._run = run
        self._observer = TreeObserver(root, now)
        self._notice = notice
        self._noticed = False
        self._changed = True
        self._quiet = 0  # ticks without a change
        self._worker = Worker("crash log")
        self._waiting: set[asyncio.Future[None]] = set()
        self._state: asyncio.Future[None] | None = None  # being written
        self._timer: asyncio.Handle = asyncio.get_running_loop().call_soon(self._tick)

    def on_report(self, report: Report) -> None:
        crash = self._observer.on_report(report)
        self._changed = True
        if crash is None:
            return
        if len(self._waiting) >= WAITING:
            self.unwritten += 1
        else:
            self._submit(append_crash, self._run.crashes, crash).add_done_callback(self._count)

    async def close(self, ended: str) -> None:
        """Write the last state, with how the run ended, and close; waits briefly for the disk."""
        self._timer.cancel()
        self._submit(self._write, self._observer.standing(ended, self.unwritten))
        await asyncio.wait(set(self._waiting), timeout=LAST_S)
        self._worker.close()

    def _tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(TICK_S, self._tick)
        self._quiet += 1
        busy = self._state is not None and not self._state.done()
        if not busy and (self._changed or self._quiet >= BEAT):
            self._changed, self._quiet = False, 0
            self._state = self._submit(self._write, self._observer.standing(unwritten=self.unwritten))

    def _submit(self, write: Callable[..., None], *arguments: object) -> asyncio.Future[None]:
        future = self._worker.submit(write, *arguments)
        self._waiting.add(future)
        future.add_done_callback(self._settle)
        return future

    def _write(self, standing: TreeStatus) -> None:
        write_file(self._run.tree_json, standing.model_dump_json().encode() + b"\n")

    def _settle(self, future: asyncio.Future[None]) -> None:
        self._waiting.discard(future)
        error = future.exception()
        if error is not None and not self._noticed:
            self._noticed = True
            self._notice(f"What happens in the tree cannot be written down: {error}")

    def _count(self, future: asyncio.Future[None]) -> None:
        self.unwritten += future.exception() is not None
