"""The learner of a dialogue run, its settings, reference and generations."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from selfplay.checkpoint.models import ModelMeta, is_model, read_model, save_model
from selfplay.config.dialogue import TINY
from selfplay.config.dialogue_rules import default_rate_and_kl, is_embedded
from selfplay.league.records import generation_id
from selfplay.learner.grpo import GRPOLearner
from selfplay.learner.grpo_loss import GRPOSettings
from selfplay.policy.language.model import FrozenReference
from selfplay.train.dialogue.players import reopen
from selfplay.train.learner_state import check_finite

if TYPE_CHECKING:
    from selfplay.learner.grpo import TokenModel
    from selfplay.train.dialogue.session import DialogueSession
    from selfplay.train.progress import Progress


def grpo_settings(session: DialogueSession) -> GRPOSettings:
    grpo = session.config.grpo
    rate, kl = default_rate_and_kl(is_embedded(session.config))
    return GRPOSettings(
        advantage=grpo.advantage, baseline=grpo.baseline, loss_agg=grpo.loss_agg,
        row_tokens=session.sampling.max_new_tokens,
        clip_low=grpo.clip_low, clip_high=grpo.clip_high,
        learning_rate=rate if grpo.learning_rate is None else grpo.learning_rate,
        max_grad_norm=grpo.max_grad_norm, epochs=grpo.epochs, batch_rows=grpo.batch_rows, micro_rows=grpo.micro_rows,
        kl=kl if grpo.kl is None else grpo.kl, entropy=grpo.entropy, bf16=session.config.model.bf16,
        truncate=session.config.server.truncate if session.config.server.remote else 0.0,
    )  # fmt: skip


def make_learner(session: DialogueSession) -> GRPOLearner:
    """The learner. Blocks while a reference is loaded."""
    settings = grpo_settings(session)
    reference = _reference(session) if settings.kl else None
    return GRPOLearner(session.model, settings, session.sampling, reference=reference, threads=session.threads)


def freeze(session: DialogueSession, progress: Progress) -> str:
    """Save the current model as a generation; returns its name. Blocks.

    Raises:
        LearnerError: its weights are not finite.
    """
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


def _reference(session: DialogueSession) -> TokenModel:
    first = session.run.generations / generation_id(0)
    if not is_model(first):
        return FrozenReference(session.model)  # without a first generation nothing has been learned yet
    if session.model.adapter is not None:
        read_model(first)
        return FrozenReference(session.model, first)
    model = reopen(session.config, str(first), session.device)
    model.module.requires_grad_(requires_grad=False)
    return model
