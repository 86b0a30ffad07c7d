"""Where a training stands, and the files that it goes on from.

The training's own folder is a ``RunDir``; its settings stand in ``imitation.json`` and not in ``run.json``, so that
self-play, which resumes the newest run, does not take it for one. States lie in ``learner/iter_N``, N being the number
of minibatches learned from; ``selfplay.checkpoint.learner_state`` says what is promised about them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field

from selfplay.checkpoint import LearnerMeta, LearnerState, RunDir, create_run, group, has_state, save_learner
from selfplay.checkpoint.documents import encode_json
from selfplay.checkpoint.run_dir import modified_ns
from selfplay.checkpoint.store import make_folder, write_file
from selfplay.errors import IncompatibleError, NotARunError, boundary
from selfplay.learner.baselines import ActionCounts
from selfplay.train.learner_state import learner_arrays, restore_learner

if TYPE_CHECKING:
    from selfplay.config.imitation import ImitationConfig
    from selfplay.learner.imitation import Imitator, Learned
    from selfplay.policy.heads import Heads

NAME: Final = "imitation"  # of the folder of a training: imitation, imitation-2, ...
SETTINGS: Final = "imitation.json"


class Sums(BaseModel):
    """What an epoch was like so far: sums over its minibatches."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    loss: float = 0.0
    changed: float = 0.0
    changed_rows: int = 0
    rows: int = 0  # that were learned from
    seen: int = 0  # rows, with those of minibatches that were skipped
    minibatches: int = 0
    skipped: int = 0
    grad_norm: float = 0.0  # of the others

    seconds: float = 0.0  # of learning

    def add(self, learned: Learned, seconds: float) -> Sums:
        """With one minibatch more."""
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


class Standing(BaseModel):
    """Where a training stands: after ``epoch`` whole passes, and so far in the next."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    epoch: int = Field(0, ge=0)
    sums: Sums = Sums()
    minibatches: int = Field(0, ge=0)  # of all epochs
    rows: int = Field(0, ge=0)  # of all epochs
    elapsed_s: float = Field(0.0, ge=0)
    best: float | None = None  # lowest loss so far
    best_epoch: int = Field(0, ge=0)
    bar: float | None = None  # what the next epoch has to be below, by min_delta, to count as better
    stale: int = Field(0, ge=0)  # epochs since one was
    ended: str = ""  # why the training is over, "" if it is not


def new_folder(parent: Path) -> RunDir:
    """The folder of a new training, under the next free name."""
    return create_run(parent / NAME, is_default=True)


def find_training(path: Path) -> RunDir:
    """The training in a folder, or the newest of those below it that have a state to go on from.

    Raises:
        NotARunError: there is none; names those that failed before their first state.
    """
    if (path / SETTINGS).is_file():
        return RunDir(path)
    runs = [RunDir(entry) for entry in sorted(path.glob(f"{NAME}*")) if (entry / SETTINGS).is_file()]
    begun = [run for run in runs if has_state(run)]
    if not begun:
        failed = ", ".join(run.path.name for run in runs)
        more = f"; {failed} ended before the first state" if failed else ""
        raise NotARunError(f"{path} holds no training of train_from_replays.py to resume{more}")
    return max(begun, key=lambda run: (modified_ns(run.learner), run.path.name))


def write_settings(run: RunDir, document: dict[str, Any]) -> None:
    """Write ``imitation.json`` atomically."""
    make_folder(run.path)
    write_file(run.path / SETTINGS, encode_json(document, SETTINGS))


def save(
    run: RunDir, config: ImitationConfig, standing: Standing, replays: str, imitator: Imitator,
    action_counts: ActionCounts, generator: torch.Generator,
) -> None:  # fmt: skip
    """Write everything that the training goes on from; the newest two states are kept.

    Raises:
        CheckpointError: it cannot be written; older states are untouched.
    """
    meta = LearnerMeta(
        iteration=standing.minibatches,
        total_steps=standing.rows,
        elapsed_s=standing.elapsed_s,
        created=datetime.now(UTC),
        config=config.model_dump(mode="json"),
        extra={"standing": standing.model_dump(mode="json"), "replays": replays},
    )
    arrays = learner_arrays(imitator.parallel_step, generator)
    arrays |= {"habits/counts": action_counts.counts.numpy(), "habits/same": action_counts.same.numpy()}
    if imitator.memory.numel():
        arrays["memory/lanes"] = imitator.memory.cpu().numpy()
    save_learner(run, meta, arrays)


def standing_of(state: LearnerState) -> tuple[Standing, str]:
    """Where a saved training stands, and the hash of its replays.

    Raises:
        IncompatibleError: the state is of something else.
    """
    with boundary(IncompatibleError, f"{state.path} is no state of imitation"):
        return Standing.model_validate(state.meta.extra["standing"]), str(state.meta.extra["replays"])


def saved_action_counts(state: LearnerState, heads: Heads) -> ActionCounts:
    """The action counts that were taken when the training began.

    Raises:
        IncompatibleError: the state has none that fit.
    """
    action_counts = ActionCounts.none(heads)
    with boundary(IncompatibleError, f"{state.path} is no state of imitation"):
        for name, array in group(state.arrays, "habits").items():
            getattr(action_counts, name).copy_(torch.from_numpy(np.array(array)))
    return action_counts


def restore(state: LearnerState, imitator: Imitator, generator: torch.Generator) -> None:
    """Put network, optimiser, memory and generator back.

    Raises:
        IncompatibleError: the state is of a network of another structure.
    """
    restore_learner(imitator.parallel_step, generator, state.arrays)
    if (lanes := state.arrays.get("memory/lanes")) is not None:
        imitator.memory = torch.from_numpy(np.array(lanes)).to(imitator.parallel_step.device)
