"""The learner of a dialogue run, its settings, reference, generations and state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import torch

from selfplay.dialogue.grpo import GRPOLearner
from selfplay.dialogue.language.forward import checkpoint_layers
from selfplay.dialogue.language.model import FrozenReference, adapter_of
from selfplay.dialogue.models import ModelMeta, is_model, read_model, save_model
from selfplay.dialogue.opponents import SMALL, Opponents, make_matchmaker
from selfplay.dialogue.players import reopen
from selfplay.dialogue.rules import default_rate_and_kl, is_embedded
from selfplay.dialogue.settings import TINY
from selfplay.dialogue.transcripts import keep_transcripts
from selfplay.errors import IncompatibleError, RunnerError
from selfplay.league.matchmaker import Matchmaker, MatchmakerState
from selfplay.league.modes import CURRENT
from selfplay.league.records import generation_id
from selfplay.learner.grpo_loss import GRPOSettings
from selfplay.run.disk import GENERATION
from selfplay.run.learner_state import check_finite, learner_arrays, restore_learner
from selfplay.run.training import Learners
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.dialogue.runner import Played
    from selfplay.dialogue.session import DialogueSession
    from selfplay.run.disk import DiskWatch
    from selfplay.run.learner_state import Arrays
    from selfplay.run.progress import Progress
    from selfplay.run.rating_games import RatingGames
    from selfplay.run.training import Best

TRANSCRIPTS: Final = "transcripts"


class DialogueLearner(Learners):
    """The one model of a run, which learns by GRPO, and its generations.

    The generations of ``progress`` are kept up to date. Opponents are drawn from those of save points only, so that a
    run that was stopped in between goes on with the same ones.
    """

    freeze_before_last_state = True  # a resumed run continues with the model of the newest generation

    def __init__(self, session: DialogueSession, progress: Progress, ending: Callable[[], bool]) -> None:
        self.generator = torch.Generator()
        self._session = session
        self._progress = progress
        self._grpo: GRPOLearner | None = None
        self._matchmaker: Matchmaker | None = None
        self.opponents = Opponents(
            session.config, session.run, session.device, session.entry, session.rules, session.roster,
            session.sampling, lambda: session.model.chat, ending,
        )  # fmt: skip
        self._pool: list[str] = []  # generations that are opponents

    @property
    def grpo(self) -> GRPOLearner:
        if self._grpo is None:
            raise RunnerError("the loop has not begun")
        return self._grpo

    @property
    def matchmaker(self) -> Matchmaker:
        if self._matchmaker is None:
            raise RunnerError("the loop has not begun")
        return self._matchmaker

    async def open(self) -> None:
        self._grpo = None
        self._grpo = await self.worker.submit(make_learner, self._session)
        session = self._session
        self._matchmaker = await self.worker.submit(
            make_matchmaker, session.config, session.entry, session.roster
        )  # whether the model is embedded is read from the disk
        self.opponents.forget()

    def draw(self) -> list[str]:
        """Draw the opponent on each state of an iteration, and load the models. Blocks."""
        config = self._session.config
        self.matchmaker.rotate()
        drawn = [opponent.id for opponent in self.matchmaker.draw(config.states_per_iteration)]
        self.opponents.load(set(drawn) - {CURRENT}, SMALL if is_embedded(config) else 0)
        return drawn

    async def begin(self) -> None:
        self.generator.manual_seed(derive(self._session.config.run.seed, "learner") % 2**63)
        self._pool = []
        await self.freeze()
        self._admit()

    def _admit(self) -> None:
        """Add the newest generation to the opponents."""
        self._pool = list(dict.fromkeys([*self._pool, self._progress.newest]))
        self.matchmaker.set_pool(self._pool, (), self._session.roster.names)

    async def restore(self, state: LearnerState) -> None:
        extra: Any = state.meta.extra
        await self.worker.submit(restore_learner, self.grpo, self.generator, state.arrays)
        progress = self._progress
        progress.generations, progress.newest = list(state.meta.generations), state.meta.generations[-1]
        progress.games, progress.lost = extra["games"], extra["lost"]
        self.matchmaker.restore(state.meta.matchmaker)
        saved = MatchmakerState.model_validate(state.meta.matchmaker).generations
        self._pool = await self.worker.submit(self._usable, saved)
        self.matchmaker.set_pool(self._pool, (), self._session.roster.names)
        if self.grpo.baseline is not None:
            if "baseline" not in extra:
                raise IncompatibleError(f"{state.path}: it has no baseline")
            self.grpo.baseline.restore(extra["baseline"])

    def _usable(self, names: Sequence[str]) -> list[str]:
        """Those of the generations that were not deleted. Blocks."""
        return [name for name in names if is_model(self._session.run.generations / name)]

    async def freeze(self) -> None:
        progress = self._progress
        progress.newest = await self.worker.submit(freeze, self._session, progress)
        if progress.newest not in progress.generations:
            progress.generations.append(progress.newest)

    async def add_generation(
        self, collected: Sequence[Played], disk: DiskWatch, rating: RatingGames | None, best: Best
    ) -> None:
        """Add a generation, with transcripts of some of the games before it."""
        del rating, best
        with disk.tolerate(GENERATION):
            await self.freeze()
            self._admit()
        run, iteration = self._session.run.path, self._progress.iteration
        seed = derive(self._session.config.run.seed, "transcripts", iteration)
        with disk.tolerate(TRANSCRIPTS):
            await self.worker.submit(keep_transcripts, run, collected, iteration, seed)

    async def state(self) -> tuple[dict[str, Any], Arrays]:
        grpo, progress = self.grpo, self._progress
        extra: dict[str, Any] = {"games": progress.games, "lost": progress.lost, "base": self._session.base}
        if grpo.baseline is not None:
            extra["baseline"] = grpo.baseline.state()
        fields = {"extra": extra, "matchmaker": self.matchmaker.state()}
        return fields, await self.worker.submit(learner_arrays, grpo, self.generator)

    def close(self) -> None:
        if self._grpo is not None:
            self.worker.submit(self._grpo.close)


def grpo_settings(session: DialogueSession) -> GRPOSettings:
    config = session.config
    rate, kl = default_rate_and_kl(is_embedded(config))
    given = config.grpo.model_dump(include={field.name for field in fields(GRPOSettings)}, exclude_none=True)
    return GRPOSettings(
        **{"learning_rate": rate, "kl": kl, **given},
        row_tokens=session.sampling.max_new_tokens,
        bf16=config.model.bf16,
        truncate=config.server.truncate if config.server.remote else 0.0,
    )


def make_learner(session: DialogueSession) -> GRPOLearner:
    """The learner. Blocks while a reference is loaded."""
    config, settings = session.config, grpo_settings(session)
    if config.grpo.checkpointing:
        checkpoint_layers(session.model.module)
    reference = _reference(session) if settings.kl else None
    return GRPOLearner(session.model, settings, session.sampling, reference=reference, threads=session.threads)


def freeze(session: DialogueSession, progress: Progress) -> str:
    """Save the current model as a generation, LearnerError if it is not finite; returns its name. Blocks."""
    check_finite(session.model.module)
    name = generation_id(progress.iteration)
    meta = ModelMeta(
        id=name, parent=progress.newest or None, iteration=progress.iteration, total_steps=progress.total_steps,
        game=session.config.game.type, rules=asdict(session.rules),
        base=TINY if is_embedded(session.config) else session.config.model.name,
        created=datetime.now(UTC), config=session.config.model_dump(mode="json"),
    )  # fmt: skip
    save_model(session.run.generations / name, meta, session.model.save, replace=True)
    return name


def _reference(session: DialogueSession) -> FrozenReference:
    first = session.run.generations / generation_id(0)
    if not is_model(first):
        return FrozenReference(session.model)  # without a first generation nothing has been learned yet
    if session.model.adapter is not None:
        read_model(first)
        return FrozenReference(session.model, adapter_of(session.model, first))
    before = reopen(session.config, str(first), "cpu")
    return FrozenReference(session.model, dict(before.module.named_parameters()))
