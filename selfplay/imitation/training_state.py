"""Progress of a training, and the states to resume it from.

They are in ``learner/iter_N`` (see ``selfplay.checkpoint.learner_state``), where N is the number of minibatches.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import torch
from pydantic import BaseModel, Field

from selfplay.checkpoint import LearnerMeta, LearnerState, RunDir, group, save_learner
from selfplay.checkpoint.documents import Count
from selfplay.errors import IncompatibleError, boundary
from selfplay.learner.imitation_metrics import ActionCounts
from selfplay.run.learner_state import learner_arrays, restore_learner

if TYPE_CHECKING:
    from selfplay.imitation.settings import ImitationConfig
    from selfplay.learner.imitation import Imitator, Learned
    from selfplay.policy.heads import Heads


class Sums(BaseModel, frozen=True, extra="forbid"):
    """Sums over the minibatches of the current epoch."""

    loss: float = 0.0
    changed: float = 0.0
    changed_rows: Count = 0
    rows: Count = 0  # without skipped minibatches
    seen: Count = 0  # rows, with skipped minibatches
    minibatches: Count = 0
    skipped: Count = 0
    grad_norm: float = 0.0  # of minibatches that were not skipped
    seconds: float = 0.0  # of learning

    def add(self, learned: Learned, seconds: float) -> Sums:
        values = self.model_dump()
        values["seconds"] += seconds
        values["seen"] += learned.rows
        values["minibatches"] += 1
        if learned.skipped:
            values["skipped"] += 1
        else:
            values["loss"] += float(learned.parts.sum())
            values["changed"] += learned.changed
            values["changed_rows"] += learned.changed_rows
            values["rows"] += learned.rows
            values["grad_norm"] += learned.grad_norm
        return Sums(**values)


class TrainingProgress(BaseModel, frozen=True, extra="forbid"):
    """Progress of a training: ``epoch`` whole passes, and ``sums`` of the next."""

    epoch: Count = 0
    sums: Sums = Sums()
    minibatches: Count = 0  # of all epochs
    rows: Count = 0  # of all epochs
    elapsed_s: float = Field(0.0, ge=0)
    best: float | None = None  # lowest loss
    best_epoch: Count = 0
    bar: float | None = None  # losses below it count as better
    stale: Count = 0  # epochs since the last better one
    ended: str = ""  # why the training has ended, "" before


def save(
    run: RunDir, config: ImitationConfig, progress: TrainingProgress, replays: str, imitator: Imitator,
    action_counts: ActionCounts, generator: torch.Generator,
) -> None:  # fmt: skip
    """Write a state to resume from, of which the newest two are kept; a CheckpointError leaves older ones unchanged."""
    meta = LearnerMeta(
        iteration=progress.minibatches,
        total_steps=progress.rows,
        elapsed_s=progress.elapsed_s,
        created=datetime.now(UTC),
        config=config.model_dump(mode="json"),
        extra={"standing": progress.model_dump(mode="json"), "replays": replays},
    )
    arrays = learner_arrays(imitator.parallel_step, generator)
    arrays |= {"habits/counts": action_counts.counts.numpy(), "habits/same": action_counts.same.numpy()}
    if imitator.memory.numel():
        arrays["memory/lanes"] = imitator.memory.cpu().numpy()
    save_learner(run, meta, arrays)


def saved_progress(state: LearnerState) -> tuple[TrainingProgress, str]:
    """Progress of a saved training, and the hash of its games; IncompatibleError for a state of something else."""
    with boundary(IncompatibleError, f"{state.path} is no state of imitation"):
        return TrainingProgress.model_validate(state.meta.extra["standing"]), str(state.meta.extra["replays"])


def saved_action_counts(state: LearnerState, heads: Heads) -> ActionCounts:
    """The action counts from the start of the training; IncompatibleError if there are none of the right shape."""
    action_counts = ActionCounts.none(heads)
    with boundary(IncompatibleError, f"{state.path} is no state of imitation"):
        for name, array in group(state.arrays, "habits").items():
            getattr(action_counts, name).copy_(torch.from_numpy(np.array(array)))
    return action_counts


def restore(state: LearnerState, imitator: Imitator, generator: torch.Generator) -> None:
    """Restore network, optimiser, memory and generator; IncompatibleError if the network's structure is another."""
    restore_learner(imitator.parallel_step, generator, state.arrays)
    if (lanes := state.arrays.get("memory/lanes")) is not None:
        imitator.memory = torch.from_numpy(np.array(lanes)).to(imitator.parallel_step.device)
