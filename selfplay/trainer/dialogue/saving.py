"""What a run of words leaves on disk: generations, all of which stay, states to resume from, and games for people.

A generation that the disk refuses is left out. See ``state_saving`` for states.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint import LearnerMeta, write_learner
from selfplay.league.records import generation_id
from selfplay.seeding import derive
from selfplay.trainer.dialogue.learning import freeze
from selfplay.trainer.dialogue.transcripts import keep_transcripts
from selfplay.trainer.disk import GENERATION, DiskWatch
from selfplay.trainer.learner_state import learner_arrays
from selfplay.trainer.state_saving import StateSaving

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from selfplay.learner.grpo import GRPOLearner
    from selfplay.runner.dialogue import Played
    from selfplay.runner.worker import Worker
    from selfplay.trainer.dialogue.rater import WordsRater
    from selfplay.trainer.dialogue.session import WordsSession
    from selfplay.trainer.progress import Progress

TRANSCRIPTS: Final = "games for people"


class WordsSaving(StateSaving):
    """Saves for one incarnation of the training loop.

    Args:
        session: What is trained.
        learner: Who learns.
        generator: Its randomness.
        progress: Where the run stands; is told of new generations.
        rater: Plays rating games; None where nothing is rated.
        worker: The thread that the learner and files belong to.
        disk: Is told of what could not be saved.
    """

    def __init__(
        self,
        session: WordsSession,
        learner: GRPOLearner,
        generator: torch.Generator,
        progress: Progress,
        rater: WordsRater | None,
        worker: Worker,
        disk: DiskWatch,
    ) -> None:
        super().__init__(session.run, session.config.run, progress, rater, worker, disk)
        self._session = session
        self._learner = learner
        self._generator = generator
        self._rater = rater

    async def begin(self) -> None:
        """The first generation and the first state of a new run.

        Raises:
            DiskError: a run that cannot even begin to save is not worth its time.
        """
        await self._freeze()
        await self._write_state()

    async def save(self, played: Sequence[Played]) -> None:
        """At a save point everything; between two, the state that could not be saved."""
        if self._is_point:
            with self._disk.tolerate(GENERATION):
                await self._freeze()
            with self._disk.tolerate(TRANSCRIPTS):
                await self._worker.submit(self._keep, played)
        await self.checkpoint()

    async def save_last(self) -> None:
        """The end of the run, unless it has been saved."""
        progress = self._progress
        if progress.newest != generation_id(progress.iteration) or progress.saved != progress.iteration:
            with self._disk.tolerate(GENERATION):
                await self._freeze()
            await self.checkpoint()

    async def _freeze(self) -> None:
        """A generation."""
        progress = self._progress
        name = await self._worker.submit(freeze, self._session, progress)
        progress.newest = name
        if name not in progress.generations:
            progress.generations.append(name)

    def _keep(self, played: Sequence[Played]) -> None:
        """Some games of the iteration, for people."""
        iteration, seed = self._progress.iteration, self._session.config.run.seed
        keep_transcripts(self._session.run.path, played, iteration, derive(seed, "transcripts", iteration))

    async def _write_state(self) -> None:
        await self._worker.submit(self._write)
        self._progress.saved = self._progress.iteration

    def _write(self) -> None:
        progress, learner, session = self._progress, self._learner, self._session
        baseline: dict[str, Any] = {} if learner.baseline is None else {"baseline": learner.baseline.state()}
        meta = LearnerMeta(
            iteration=progress.iteration, total_steps=progress.total_steps, elapsed_s=progress.elapsed_s,
            created=datetime.now(UTC), config=session.config.model_dump(mode="json"),
            generations=tuple(progress.generations),
            extra={
                "restarts": progress.restarts, "chaos": progress.chaos.document(),
                "games": progress.games, "lost": progress.lost, "base": session.base,
                **baseline,
                **({} if self._rater is None else self._rater.state()),
            },
        )  # fmt: skip
        write_learner(session.run, meta, learner_arrays(learner, self._generator))
