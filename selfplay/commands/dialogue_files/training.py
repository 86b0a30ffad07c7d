"""Trains a model from tables of its own games, and leaves it as a folder that others can load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np
import torch
from pydantic import Field, ValidationError

from selfplay.checkpoint.models import ModelMeta, is_model, read_model, save_model
from selfplay.commands.dialogue_files.processes import Process, joined
from selfplay.commands.dialogue_files.reading import Table, check_tables, read_table
from selfplay.commands.dialogue_files.rows import TRAIN, VAL
from selfplay.commands.dialogue_files.settings import (
    SETTINGS,
    FileSettings,
    as_mistake,
    read_settings,
    refuse_other,
)
from selfplay.config.base import Group, Positive
from selfplay.config.dialogue_rules import is_embedded
from selfplay.errors import ConfigError, LearnerError
from selfplay.learner.advantages import weigh
from selfplay.learner.grpo import GRPOLearner, GRPOStatistics
from selfplay.learner.grpo_loss import GRPOSettings, clipped_loss, k3
from selfplay.machine import usable_cores
from selfplay.rollout.dialogue import grouped
from selfplay.seeding import derive
from selfplay.train.dialogue.players import open_model, sampling_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from selfplay.policy.language.model import LanguageModel
    from selfplay.rollout.dialogue import DialogueGroup

CHECKPOINT: Final = "checkpoint"
MOST_THREADS: Final = 4
Tell = Callable[[str], object]


class TrainingSettings(Group):
    """Of a training; None: by the model's preset."""

    batch_rows: Positive = 64
    micro_rows: Positive = 8
    epochs: Positive = 2
    learning_rate: Annotated[float, Field(gt=0, le=1)] | None = None
    kl: Annotated[float, Field(ge=0)] | None = None
    advantage: Literal["grpo", "dr_grpo", "rloo"] = "dr_grpo"

    def completed(self, embedded: bool) -> TrainingSettings:
        """With the preset's numbers where none are given."""
        rate, kl = (2e-4, 0.0) if embedded else (1e-6, 0.001)
        chosen = {
            "learning_rate": rate if self.learning_rate is None else self.learning_rate,
            "kl": kl if self.kl is None else self.kl,
        }
        return self.model_copy(update=chosen)


def training_settings(values: Mapping[str, Any]) -> TrainingSettings:
    """Settings as a user gives them.

    Raises:
        ConfigError: one cannot be; names the flag.
    """
    try:
        return TrainingSettings(**values)
    except ValidationError as error:
        raise as_mistake(error) from error


@dataclass(frozen=True, slots=True)
class Validation:
    """How a trained model stands to games on states that it was not trained on. Means are over tokens."""

    rows: int
    loss: float  # clipped, of the games whose group says something; 0 where there are none
    kl: float  # from the policy that played


def train(folder: Path, wanted: TrainingSettings, device: str, resume: bool, tell: Tell) -> None:
    """Train the model named in the folder's settings on its ``train.parquet``; blocks.

    All processes that ``torchrun`` starts call this alike, and share each batch; the first one tells and writes.

    Args:
        folder: with settings and tables; its ``checkpoint/`` is written whole, or stays as it was.
        wanted: of the training.
        device: as in ``processes.joined``.
        resume: keep a checkpoint that was trained in the same way from the same games, and refuse another one.
        tell: is told how it goes.

    Raises:
        ConfigError: there are no tables, or the settings cannot be.
        CorruptError: tables or settings are damaged, or do not belong together.
        CheckpointError: the model is damaged, or the checkpoint cannot be written.
    """
    for name in (SETTINGS, TRAIN, VAL):
        if not (folder / name).exists():
            raise ConfigError(f"{folder / name}: no data to train on; run_selfplay_generation.sh makes it")
    settings = read_settings(folder)
    with joined(device) as process:
        told: Tell = tell if process.first else lambda line: None
        _train(folder, settings, wanted.completed(is_embedded(settings.config)), process, resume, told)


def _train(
    folder: Path, settings: FileSettings, chosen: TrainingSettings, process: Process, resume: bool, tell: Tell
) -> None:
    train_table, val_table = read_table(folder / TRAIN), read_table(folder / VAL)
    goal = folder / CHECKPOINT
    how = {**chosen.model_dump(), "source": train_table.source}
    if resume and _finished(goal, how):
        tell(f"{goal}: is there, trained from these games in the same way")
        return
    tell(_preset(settings, chosen))
    model, reference = _models(settings, chosen, process, tell)
    check_tables(train_table, val_table, int(model.config.vocab_size))
    learner = GRPOLearner(
        model, _grpo(settings, chosen, process), sampling_of(settings.config), reference=reference,
        threads=max(1, min(MOST_THREADS, usable_cores() // process.here)),
    )  # fmt: skip
    generator = torch.Generator().manual_seed(derive(settings.seed, "files", settings.iteration, "training"))
    try:
        found = learner.update(grouped(train_table.instances), generator)
        judged = validate(learner, grouped(val_table.instances))
    finally:
        learner.close()
    for line in _report(train_table, found, judged):
        tell(line)
    if found.skipped == found.steps and found.steps:
        raise LearnerError("no step had a finite gradient: nothing was learned, and nothing is written")
    if process.first:
        save_model(goal, _meta(settings, how, train_table, found, judged), model.save, replace=True)
    process.wait()
    tell(f"{goal}: the trained model")


def _finished(goal: Path, how: dict[str, Any]) -> bool:
    """Whether a checkpoint is there that was trained so; games that were played again do not count as the same.

    Raises:
        ConfigError: it was trained otherwise.
    """
    if not is_model(goal):
        return False
    trained = read_model(goal).config.get("training")
    found = trained if isinstance(trained, dict) else {}
    if found.get("source") != how["source"]:
        return False
    refuse_other(goal, found, how)
    return True


def _preset(settings: FileSettings, chosen: TrainingSettings) -> str:
    embedded = is_embedded(settings.config)
    usual = TrainingSettings().completed(embedded)
    told = (
        f"Training {settings.model}; preset of {'the embedded model' if embedded else 'other models'}: {_cost(usual)}"
    )
    return told if _cost(usual) == _cost(chosen) else f"{told}; as given: {_cost(chosen)}"


def _cost(settings: TrainingSettings) -> str:
    return f"learning rate {settings.learning_rate:g}, {f'KL {settings.kl:g}' if settings.kl else 'no KL'}"


def _models(
    settings: FileSettings, chosen: TrainingSettings, process: Process, tell: Tell
) -> tuple[LanguageModel, LanguageModel | None]:
    """The model, and the one that it is held near to; the embedded one is made by the first process alone."""
    if not process.first:
        process.wait()
    model, _ = open_model(settings.config, process.device, usable_cores(), tell)
    if process.first:
        process.wait()
    return model, open_model(settings.config, process.device, usable_cores(), tell)[0] if chosen.kl else None


def _grpo(settings: FileSettings, chosen: TrainingSettings, process: Process) -> GRPOSettings:
    assert chosen.learning_rate is not None
    assert chosen.kl is not None
    return GRPOSettings(
        advantage=chosen.advantage, baseline=settings.baseline, learning_rate=chosen.learning_rate,
        epochs=chosen.epochs, batch_rows=chosen.batch_rows, micro_rows=chosen.micro_rows, kl=chosen.kl,
        bf16=process.device != "cpu" and not is_embedded(settings.config),
    )  # fmt: skip


def validate(learner: GRPOLearner, groups: Sequence[DialogueGroup]) -> Validation:
    """Judge the model of a learner by games of its predecessor. All processes call this."""
    instances = [instance for group in groups for instance in group.instances]
    now = [
        torch.from_numpy(values[i.sampled]) for values, i in zip(learner.logprobs(instances), instances, strict=True)
    ]
    then = [torch.from_numpy(instance.logprob[instance.sampled]) for instance in instances]
    if not instances:
        return Validation(0, 0.0, 0.0)
    inside = torch.cat(now) > -torch.inf  # of the nucleus
    kl = float(k3(torch.cat(then), torch.cat(now))[inside].mean())
    weighed = weigh(groups, learner.settings.advantage)
    advantages = {(i.game_id, i.seat): advantage for i, advantage in weighed.instances}
    settings, losses = learner.settings, []
    for instance, new, old in zip(instances, now, then, strict=True):
        if (instance.game_id, instance.seat) in advantages:
            advantage = torch.full_like(new, advantages[instance.game_id, instance.seat])
            losses.append(clipped_loss(new - old, advantage, settings.clip_low, settings.clip_high))
    return Validation(len(instances), float(torch.cat(losses).mean()) if losses else 0.0, kl)


def _report(table: Table, found: GRPOStatistics, judged: Validation) -> list[str]:
    rewards = [instance.reward for instance in table.instances]
    lines = [
        f"{len(rewards)} rows of {len(table.states)} states, reward {np.mean(rewards) if rewards else 0.0:.3f}; "
        f"{found.rows} rows in {found.groups - found.zero_variance - found.singletons} of {found.groups} groups train, "
        f"{found.zero_variance} have one reward",
        f"{found.steps} steps, loss {found.loss:.4f}, entropy {found.entropy:.3f}, clipped {found.clip_fraction:.1%}, "
        f"KL {found.approx_kl:.5f} from the policy that played, which differed by {found.drift:.1e} at first",
        f"Validation: {judged.rows} rows, loss {judged.loss:.4f}, KL {judged.kl:.5f}",
    ]
    if not found.rows:
        lines.append("Every group has one reward: there is nothing to compare, and the model stays as it was")
    return lines


def _meta(
    settings: FileSettings, how: dict[str, Any], table: Table, found: GRPOStatistics, judged: Validation
) -> ModelMeta:
    before = Path(settings.model)
    parent = read_model(before) if before.is_dir() and is_model(before) else None
    return ModelMeta(
        id=f"{settings.exp_name}-{settings.iteration}",
        parent=parent.id if parent else None,
        iteration=settings.iteration,
        total_steps=(parent.total_steps if parent else 0) + table.turns,
        game=settings.game,
        rules=settings.rules,
        base=parent.base if parent else settings.model,
        created=datetime.now(UTC),
        config={"training": how, "statistics": asdict(found), "validation": asdict(judged)},
    )
