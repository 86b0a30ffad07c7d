"""States to resume from, in runs of every family: when they are written, and which of them stay.

A disk that refuses costs what it refused and no training: a state is tried again after 1, 2, 4, ... iterations, until
the next save point comes anyway. Nothing is removed before a newer state verifies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from selfplay.checkpoint import Retention, retain
from selfplay.league.records import generation_number
from selfplay.trainer.disk import OLD, RATINGS, STATE, DiskWatch
from selfplay.trainer.machine import give_back_memory
from selfplay.trainer.save_points import SavePoints

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.runner.worker import Worker
    from selfplay.trainer.progress import Progress


class Keeping(Protocol):
    """The settings of a run that say when states are written and which stay."""

    @property
    def save_interval(self) -> int:
        """``--save-interval``."""
        ...

    @property
    def keep_checkpoints(self) -> int:
        """``--keep-checkpoints``."""
        ...

    @property
    def keep_every(self) -> int:
        """``--keep-every``."""
        ...

    @property
    def keep_best(self) -> bool:
        """``--keep-best``."""
        ...


class Judge(Protocol):
    """Who rates generations."""

    async def write_rest(self) -> None:
        """Write games that the disk did not take before; DiskError where it does not now."""
        ...

    async def best(self, generations: Sequence[str]) -> str | None:
        """Who of them is best; None where nobody is known."""
        ...


class StateSaving(ABC):
    """Saves states for one incarnation of a training loop.

    Args:
        run: Where they go.
        settings: See ``Keeping``.
        progress: Where the run stands.
        rater: Plays rating games; None where nothing is rated.
        worker: The thread that learners and files belong to.
        disk: Is told of what could not be saved.
    """

    def __init__(
        self, run: RunDir, settings: Keeping, progress: Progress, rater: Judge | None, worker: Worker, disk: DiskWatch
    ) -> None:
        self._run = run
        self._settings = settings
        self._progress = progress
        self._judge = rater
        self._worker = worker
        self._disk = disk
        self._points = SavePoints(settings.save_interval)

    @property
    def is_due(self) -> bool:
        """Whether something is to be saved after this iteration."""
        return self._points.is_due(self._progress.iteration)

    @property
    def _is_point(self) -> bool:
        """Whether everything is, and not only a state that could not be saved."""
        return self._points.is_point(self._progress.iteration)

    async def checkpoint(self) -> None:
        """Everything that training continues from; then what nothing needs any more goes."""
        if self._judge is not None:
            with self._disk.tolerate(RATINGS):
                await self._judge.write_rest()
        with self._disk.tolerate(STATE):
            await self._write_state()
        await self._worker.submit(give_back_memory)
        saved = STATE not in self._disk.unsaved
        self._points.tried(self._progress.iteration, saved=saved)
        if saved:
            with self._disk.tolerate(OLD):
                best = generation_number(await self._best() or "")
                pinned = () if best is None else (best,)
                await self._remove_old(Retention(self._settings.keep_checkpoints, self._settings.keep_every, pinned))

    async def _best(self) -> str | None:
        """Whom ``--keep-best`` keeps: who passed the gate, or else has the highest rating."""
        if self._judge is None or not self._settings.keep_best:
            return None
        return await self._judge.best(self._progress.generations)

    @abstractmethod
    async def _write_state(self) -> None:
        """Write the state of now; ``progress.saved`` is its iteration then."""

    async def _remove_old(self, retention: Retention) -> None:
        """Remove the states that are not to stay."""
        await self._worker.submit(retain, self._run, self._progress.saved, retention)
