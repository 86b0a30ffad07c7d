"""Saving of generations and states to resume from, and removal of old ones.

A full disk does not end the training: a failed state is tried again after 1, 2, 4, ... iterations, until the next save
point. Nothing is removed before a newer state is verified.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint import LearnerMeta, Retention, retain, write_learner
from selfplay.league.records import generation_id, generation_number
from selfplay.machine import give_back_memory
from selfplay.run.disk import GENERATION, OLD, RATINGS, STATE, DiskWatch
from selfplay.run.rating_games import RATING_STATE

if TYPE_CHECKING:
    from selfplay.run.rating_games import RatingGames
    from selfplay.run.training import Training


@dataclass(slots=True)
class SavePoints:
    """Counts the iterations between tries: a disk may have room again soon, and a try costs as much as a save."""

    interval: int  # iterations between save points
    _tried: int = 0  # iteration of the last try
    _pause: int = 0  # iterations from there to the next; 0: it went well

    def is_point(self, iteration: int) -> bool:
        """Return True if a generation and a state are saved after this iteration, regardless of earlier failures."""
        return iteration % self.interval == 0

    def is_due(self, iteration: int) -> bool:
        return self.is_point(iteration) or 0 < self._pause <= iteration - self._tried

    def tried(self, iteration: int, *, saved: bool) -> None:
        """A state was saved, or could not be."""
        self._tried = iteration
        self._pause = 0 if saved else min(max(1, 2 * self._pause), self.interval)


class Saving:
    """Saves for one incarnation of the training loop; ``rating_games`` is None where nothing is rated."""

    def __init__(self, training: Training[Any, Any], rating_games: RatingGames | None, disk: DiskWatch) -> None:
        self._training = training
        self._rating_games = rating_games
        self._disk = disk
        self._points = SavePoints(training.settings.run.save_interval)
        self._unrated: dict[str, Any] = {}  # ratings of an earlier session, where this one rates nothing
        self._ledger_position = 0  # of the same

    def is_due(self, iteration: int) -> bool:
        """Return True if something is to be saved after this iteration."""
        return self._points.is_due(iteration)

    def restore(self, meta: LearnerMeta) -> None:
        """Continue from a state with what is known of ratings."""
        if self._rating_games is not None:
            self._rating_games.restore(meta.extra)
        else:
            self._ledger_position = meta.ledger_position
            self._unrated = {name: meta.extra[name] for name in RATING_STATE if name in meta.extra}

    async def save(self, collected: object) -> None:
        """At a save point everything; between two, the state that could not be saved."""
        if self._points.is_point(self._training.progress.iteration):
            await self._training.learners.add_generation(collected, self._disk, self._rating_games, self._best)
        await self.checkpoint()

    async def save_last(self) -> None:
        learners, progress = self._training.learners, self._training.progress
        if progress.newest == generation_id(progress.iteration) and progress.saved == progress.iteration:
            return
        if not learners.freeze_before_last_state:
            await self.checkpoint()
        with self._disk.tolerate(GENERATION):
            await learners.freeze()
        if learners.freeze_before_last_state:
            await self.checkpoint()

    async def checkpoint(self) -> None:
        """Write the state that training continues from; then remove what nothing needs any more."""
        if self._rating_games is not None:
            with self._disk.tolerate(RATINGS):
                await self._rating_games.ledger.write_rest()
        with self._disk.tolerate(STATE):
            await self.write_state()
        await self._training.worker.submit(give_back_memory)
        saved = STATE not in self._disk.unsaved
        self._points.tried(self._training.progress.iteration, saved=saved)
        if saved:
            with self._disk.tolerate(OLD):
                await self._remove_old()

    async def write_state(self) -> None:
        """Write the current state; DiskError if it cannot be written."""
        training, progress = self._training, self._training.progress
        fields, arrays = await training.learners.state()
        rating = self._unrated if self._rating_games is None else self._rating_games.state()
        fields["extra"] = {
            "restarts": progress.restarts, "chaos": progress.chaos.document(), **fields["extra"], **rating
        }  # fmt: skip
        meta = LearnerMeta(
            iteration=progress.iteration,
            total_steps=progress.total_steps,
            elapsed_s=progress.elapsed_s,
            created=datetime.now(UTC),
            config=training.settings.model_dump(mode="json"),
            ledger_position=self._ledger_position if self._rating_games is None else self._rating_games.ledger.rows,
            generations=tuple(progress.generations),
            **fields,
        )
        await training.worker.submit(write_learner, training.run, meta, arrays)
        progress.saved = progress.iteration

    async def _best(self) -> str | None:
        """The generation that ``run.keep_best`` keeps: the one that passed the gate, or the highest rated."""
        if self._rating_games is None or not self._training.settings.run.keep_best:
            return None
        return await self._rating_games.best(self._training.progress.generations)

    async def _remove_old(self) -> None:
        """Remove states that are not to stay, and policies that no state needs."""
        settings = self._training.settings.run
        best = generation_number(await self._best() or "")
        pinned = () if best is None else (best,)
        retention = Retention(settings.keep_checkpoints, settings.keep_every, pinned)
        await self._training.worker.submit(retain, self._training.run, self._training.progress.saved, retention)
        await self._training.learners.sweep()
