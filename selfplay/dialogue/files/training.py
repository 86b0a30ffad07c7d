"""Trains a model from tables of its own games, and saves it as a Hugging Face folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np
import torch
from pydantic import Field, ValidationError
from torch import distributed

from selfplay.config.base import Group, Positive
from selfplay.dialogue.files.rows import TRAIN, VAL
from selfplay.dialogue.files.settings import SETTINGS, FileSettings, read_settings, refuse_other, user_error
from selfplay.dialogue.files.table import TrainingTable, check_tables, read_table
from selfplay.dialogue.grpo import GRPOLearner, GRPOStatistics
from selfplay.dialogue.instances import grouped
from selfplay.dialogue.language.forward import checkpoint_layers
from selfplay.dialogue.language.model import FrozenReference
from selfplay.dialogue.memory import MICRO_TOKENS
from selfplay.dialogue.models import ModelMeta, is_model, read_model, save_model
from selfplay.dialogue.packing import with_advantages
from selfplay.dialogue.players import open_model, sampling_of
from selfplay.dialogue.rules import default_rate_and_kl, is_embedded
from selfplay.errors import ConfigError, LearnerError
from selfplay.learner.grpo_loss import GRPOSettings, clipped_loss, k3
from selfplay.learner.sharding import ShardedModel
from selfplay.machine import pick_device, usable_cores
from selfplay.seeding import derive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from selfplay.dialogue.instances import DialogueGroup
    from selfplay.dialogue.language.model import LanguageModel
    from selfplay.dialogue.settings import DialogueConfig

CHECKPOINT: Final = "checkpoint"
MOST_THREADS: Final = 4
Notice = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Process:
    """This process, one of ``torchrun`` or alone."""

    rank: int
    count: int
    local_count: int  # on this machine
    device: str

    @property
    def first(self) -> bool:
        """True for rank 0, which writes files and messages."""
        return self.rank == 0

    def wait(self) -> None:
        if self.count > 1:
            distributed.barrier()


@contextmanager
def joined(device: str) -> Iterator[Process]:
    """Join the process group; each process has its own GPU of CUDA_VISIBLE_DEVICES.

    ``device`` is `cpu`, `cuda:N` or `auto`; with several processes `cpu` or `auto`. ConfigError for another one, or
    with fewer GPUs than processes.
    """
    count = _env_int("WORLD_SIZE", 1)
    if count == 1:
        yield Process(0, 1, 1, pick_device(device))
        return
    local = _env_int("LOCAL_RANK", 0)
    if device not in ("auto", "cpu"):
        raise ConfigError(f"--device {device}: several processes share the GPUs of `auto`, or `cpu`")
    if device == "auto":
        device = pick_device(f"cuda:{local}") if torch.cuda.is_available() else "cpu"
    on_gpu = device != "cpu"
    if on_gpu:
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield Process(distributed.get_rank(), count, _env_int("LOCAL_WORLD_SIZE", count), device)
    finally:
        distributed.destroy_process_group()


def _env_int(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else default


class TrainingSettings(Group):
    """Settings of a training; None: the default of the model."""

    batch_rows: Positive = 64
    micro_rows: Positive = 8
    epochs: Positive = 2
    learning_rate: Annotated[float, Field(gt=0, le=1)] | None = None
    kl: Annotated[float, Field(ge=0)] | None = None
    advantage: Literal["grpo", "dr_grpo", "rloo"] = "dr_grpo"
    lora_rank: Annotated[int, Field(ge=1, le=4096)] | None = None  # None: the whole model, or the adapter that played
    lora_alpha: Positive | None = None

    def completed(self, embedded: bool) -> TrainingSettings:
        """With defaults for values that are not given."""
        defaults = dict(zip(("learning_rate", "kl"), default_rate_and_kl(embedded), strict=True))
        return self.model_copy(update={name: value for name, value in defaults.items() if getattr(self, name) is None})


def training_settings(values: Mapping[str, Any]) -> TrainingSettings:
    """Settings from the command line; the message on an invalid value names its flag."""
    try:
        return TrainingSettings(**values)
    except ValidationError as error:
        raise user_error(error) from error


@dataclass(frozen=True, slots=True)
class Validation:
    """A trained model on the games of the validation states. Means are over tokens."""

    rows: int
    loss: float  # clipped, of groups with different rewards; 0 without any
    kl: float  # from the behaviour policy


def train(folder: Path, wanted: TrainingSettings, device: str, resume: bool, notice: Notice) -> None:
    """Train the model of a folder's settings on its ``train.parquet``; ``checkpoint/`` is replaced as a whole. Blocks.

    All processes of ``torchrun`` call this, and share model and batches; the first one writes files and messages. With
    ``resume`` a checkpoint of the same games and settings is kept, and others are refused.

    Raises:
        ConfigError: no tables, or invalid settings.
        CorruptError: tables or settings are damaged, or do not match.
        CheckpointError: the model is damaged, or the checkpoint cannot be written.
    """
    for name in (SETTINGS, TRAIN, VAL):
        if not (folder / name).exists():
            raise ConfigError(f"{folder / name}: no data to train on; run_selfplay_generation.sh makes it")
    settings = read_settings(folder)
    with joined(device) as process:
        quiet: Notice = notice if process.first else lambda line: None
        _train(folder, settings, wanted.completed(is_embedded(settings.config)), process, resume, quiet)


def _train(
    folder: Path, settings: FileSettings, chosen: TrainingSettings, process: Process, resume: bool, notice: Notice
) -> None:
    train_table, val_table = read_table(folder / TRAIN), read_table(folder / VAL)
    goal = folder / CHECKPOINT
    how = {**chosen.model_dump(), "source": train_table.source}
    if resume and _finished(goal, how):
        notice(f"{goal}: exists, with the same games and settings")
        return
    notice(_preset(settings, chosen))
    model, shared, reference = _models(settings, chosen, process, notice)
    check_tables(train_table, val_table, int(model.config.vocab_size))
    learner = GRPOLearner(
        model, _grpo(settings, chosen, process), sampling_of(settings.config), reference=reference,
        threads=max(1, min(MOST_THREADS, usable_cores() // process.local_count)), shared=shared,
    )  # fmt: skip
    generator = torch.Generator().manual_seed(derive(settings.seed, "files", settings.iteration, "training"))
    try:
        found = learner.update(grouped(train_table.instances), generator)
        validation = validate(learner, grouped(val_table.instances))
    finally:
        learner.close()
    for line in _report(train_table, found, validation):
        notice(line)
    if found.skipped == found.steps and found.steps:
        raise LearnerError("no step had a finite gradient: nothing was learned, and nothing is written")
    if shared is not None:
        shared.gather()
    if process.first:
        save_model(goal, _meta(settings, how, train_table, found, validation), model.save, replace=True)
    process.wait()
    notice(f"{goal}: the trained model")


def _finished(goal: Path, how: dict[str, Any]) -> bool:
    """Return True if there is a checkpoint of the same games and settings; refuses other settings."""
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
    default, given = _cost(TrainingSettings().completed(embedded)), _cost(chosen)
    kind = "the embedded model" if embedded else "other models"
    line = f"Training {settings.model}; preset of {kind}: {default}"
    return line if default == given else f"{line}; as given: {given}"


def _cost(settings: TrainingSettings) -> str:
    return f"learning rate {settings.learning_rate:g}, {f'KL {settings.kl:g}' if settings.kl else 'no KL'}"


def _models(
    settings: FileSettings, chosen: TrainingSettings, process: Process, notice: Notice
) -> tuple[LanguageModel, ShardedModel | None, FrozenReference | None]:
    """The model, its parts in each of several processes, and its KL reference.

    Only the first process makes an embedded model.
    """
    if not process.first:
        process.wait()
    torch.manual_seed(derive(settings.seed, "files", settings.iteration, "adapter"))  # the same in all processes
    device = process.device if process.count == 1 else "cpu"  # a device may have no room for the whole model
    model, _ = open_model(_opening(settings, chosen), device, usable_cores(), notice, plays=False)
    if process.first:
        process.wait()
    if process.device != "cpu" and not is_embedded(settings.config):
        checkpoint_layers(model.module)
    shared = ShardedModel(model.module, process.device) if process.count > 1 else None
    return model, shared, FrozenReference(model) if chosen.kl else None


def _opening(settings: FileSettings, chosen: TrainingSettings) -> DialogueConfig:
    """The configuration that opens the model to train."""
    if chosen.lora_rank is None:
        return settings.config
    alpha = {} if chosen.lora_alpha is None else {"lora_alpha": chosen.lora_alpha}
    model = settings.config.model.model_copy(update={"lora_rank": chosen.lora_rank, **alpha})
    return settings.config.model_copy(update={"model": model})


def _grpo(settings: FileSettings, chosen: TrainingSettings, process: Process) -> GRPOSettings:
    assert chosen.learning_rate is not None
    assert chosen.kl is not None
    return GRPOSettings(
        advantage=chosen.advantage, baseline=settings.baseline, learning_rate=chosen.learning_rate,
        epochs=chosen.epochs, batch_rows=chosen.batch_rows, micro_rows=chosen.micro_rows, kl=chosen.kl,
        micro_tokens=MICRO_TOKENS["cpu" if process.device == "cpu" else "cuda"],
        bf16=process.device != "cpu" and not is_embedded(settings.config),
        truncate=0.0 if settings.server is None else settings.server.truncate,
    )  # fmt: skip


def validate(learner: GRPOLearner, groups: Sequence[DialogueGroup]) -> Validation:
    """Evaluate the model of a learner on games of its predecessor. All processes call this."""
    instances = [instance for group in groups for instance in group.instances]
    now = [
        torch.from_numpy(values[i.sampled]) for values, i in zip(learner.logprobs(instances), instances, strict=True)
    ]
    then = [torch.from_numpy(instance.logprob[instance.sampled]) for instance in instances]
    if not instances:
        return Validation(0, 0.0, 0.0)
    inside = torch.cat(now) > -torch.inf  # of the nucleus
    kl = float(k3(torch.cat(then), torch.cat(now))[inside].mean())
    weighed = with_advantages(groups, learner.settings.advantage)
    advantages = {(i.game_id, i.seat): advantage for i, advantage in weighed.instances}
    settings, losses = learner.settings, []
    for instance, new, old in zip(instances, now, then, strict=True):
        if (instance.game_id, instance.seat) in advantages:
            advantage = torch.full_like(new, advantages[instance.game_id, instance.seat])
            losses.append(clipped_loss(new - old, advantage, settings.clip_low, settings.clip_high))
    return Validation(len(instances), float(torch.cat(losses).mean()) if losses else 0.0, kl)


def _report(table: TrainingTable, found: GRPOStatistics, validation: Validation) -> list[str]:
    rewards = [instance.reward for instance in table.instances]
    lines = [
        f"{len(rewards)} rows of {len(table.states)} states, reward {np.mean(rewards) if rewards else 0.0:.3f}; "
        f"{found.rows} rows in {found.groups - found.zero_variance - found.singletons} of {found.groups} groups train, "
        f"{found.zero_variance} have one reward",
        f"{found.steps} steps, loss {found.loss:.4f}, entropy {found.entropy:.3f}, clipped {found.clip_fraction:.1%}, "
        f"KL {found.approx_kl:.5f} from the policy that played, drift {found.drift:.1e} before the first step",
        f"Validation: {validation.rows} rows, loss {validation.loss:.4f}, KL {validation.kl:.5f}",
    ]
    if not found.rows:
        lines.append("All groups have equal rewards: nothing to compare, and the model did not change")
    return lines


def _meta(
    settings: FileSettings, how: dict[str, Any], table: TrainingTable, found: GRPOStatistics, validation: Validation
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
        config={"training": how, "statistics": asdict(found), "validation": asdict(validation)},
    )
