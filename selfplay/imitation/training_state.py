"""Progress of a training, and the files to resume it from.

The folder of a training is a ``RunDir``. Its settings are in ``imitation.json`` and not in ``run.json``, so that
self-play, which resumes the newest run, ignores it. States are in ``learner/iter_N`` (see
``selfplay.checkpoint.learner_state``), where N is the number of minibatches.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from pydantic import BaseModel, Field

from selfplay.checkpoint import LearnerMeta, LearnerState, RunDir, create_run, group, has_state, save_learner
from selfplay.checkpoint.documents import Count, encode_json
from selfplay.checkpoint.run_dir import modified_ns
from selfplay.checkpoint.store import make_folder, write_file
from selfplay.errors import IncompatibleError, NotARunError, boundary
from selfplay.learner.imitation_metrics import ActionCounts
from selfplay.run.learner_state import learner_arrays, restore_learner

if TYPE_CHECKING:
    from selfplay.config.imitation import ImitationConfig
    from selfplay.learner.imitation import Imitator, Learned
    from selfplay.policy.heads import Heads

NAME: Final = "imitation"  # of the folder of a training: imitation, imitation-2, ...
SETTINGS: Final = "imitation.json"


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


def new_folder(parent: Path) -> RunDir:
    """Create the folder of a new training under the next free name."""
    return create_run(parent / NAME, is_default=True)


def find_training(path: Path) -> RunDir:
    """The training in a folder, or the newest training below it that has a state.

    Raises:
        NotARunError: there is none; names trainings without a state.
    """
    if (path / SETTINGS).is_file():
        return RunDir(path)
    runs = [RunDir(entry) for entry in sorted(path.glob(f"{NAME}*")) if (entry / SETTINGS).is_file()]
    begun = [run for run in runs if has_state(run)]
    if not begun:
        failed = ", ".join(run.path.name for run in runs)
        more = f"; {failed} ended before the first state" if failed else ""
        raise NotARunError(f"{path} holds no training of selfplay imitate to resume{more}")
    return max(begun, key=lambda run: (modified_ns(run.learner), run.path.name))


def write_settings(run: RunDir, document: dict[str, Any]) -> None:
    """Write ``imitation.json`` atomically."""
    make_folder(run.path)
    write_file(run.path / SETTINGS, encode_json(document, SETTINGS))


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
    """Progress of a saved training, and the hash of its replays; IncompatibleError for a state of something else."""
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
