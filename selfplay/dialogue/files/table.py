"""Reads and validates tables of games for the learner."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated, Final, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from selfplay.checkpoint.documents import parse
from selfplay.config.base import Group
from selfplay.dialogue.files.parquet import from_parquet
from selfplay.dialogue.files.rows import SOURCE
from selfplay.dialogue.instances import Instance, TokenColumns, columns_of
from selfplay.errors import CorruptError

Bit = Literal[0, 1]
Token = Annotated[int, Field(ge=0, lt=2**31)]
Count = Annotated[int, Field(ge=0, lt=2**53)]


class _Reward(Group):
    normalized_reward: float


class _Extra(Group):
    index: Count
    game_id: Annotated[str, Field(min_length=1, max_length=200)]
    player_index: Literal[0, 1]
    turns: Count


class _Row(Group):
    """The columns of a row that are used."""

    reward_model: _Reward
    extra_info: _Extra
    input_ids: tuple[Token, ...]
    attention_mask: tuple[Bit, ...]
    position_ids: tuple[Token, ...]
    loss_mask: tuple[Bit, ...]
    reward_mask: tuple[Bit, ...]
    old_log_probs: tuple[float, ...]

    @model_validator(mode="after")
    def _agree(self) -> Self:
        columns = self.columns()
        if len({len(getattr(columns, name)) for name in columns.__slots__}) != 1:
            raise ValueError("its token columns have different lengths")
        if not all(isfinite(value) and value <= 1e-4 for value in self.old_log_probs):
            raise ValueError("old_log_probs has a value that is no log-probability")
        if not any(self.loss_mask) or self.loss_mask[0]:
            raise ValueError("loss_mask must mark a token, and not the first")
        wrong = columns_of(self.instance()).differences(columns)
        if wrong:
            raise ValueError(f"{wrong[0]} does not follow from the tokens and their loss_mask")
        return self

    def columns(self) -> TokenColumns:
        return TokenColumns(
            np.array(self.input_ids, np.int64),
            np.array(self.attention_mask, np.int8),
            np.array(self.position_ids, np.int64),
            np.array(self.loss_mask, np.int8),
            np.array(self.reward_mask, np.int8),
            np.array(self.old_log_probs, np.float32),
        )

    def instance(self) -> Instance:
        extra = self.extra_info
        return Instance(
            extra.index,
            extra.game_id,
            extra.player_index,
            np.array(self.input_ids, np.int32),
            np.array(self.loss_mask, np.bool_),
            np.array(self.old_log_probs, np.float32),
            self.reward_model.normalized_reward,
        )


_COLUMNS: Final = (
    *(f"reward_model.{name}" for name in _Reward.model_fields),
    *(f"extra_info.{name}" for name in _Extra.model_fields),
    *(name for name in _Row.model_fields if name not in ("reward_model", "extra_info")),
)


@dataclass(frozen=True, slots=True)
class TrainingTable:
    """The rows of a file."""

    path: Path
    source: str  # sha256 of its games
    instances: tuple[Instance, ...]
    turns: int  # of all games

    @property
    def states(self) -> set[int]:
        return {instance.index for instance in self.instances}


def read_table(path: Path) -> TrainingTable:
    """The rows of a file of ``convert``; derived columns are checked too.

    CorruptError for another file, or an inconsistent row; names the row, from 0.
    """
    rows, about = from_parquet(path, _COLUMNS)
    instances, turns = list[Instance](), dict[str, int]()
    seen: set[tuple[str, int]] = set()
    for number, document in enumerate(rows):
        where = f"{path}: row {number}"
        row = parse(_Row, document, where, CorruptError)
        instance = row.instance()
        if (instance.game_id, instance.seat) in seen:
            raise CorruptError(f"{where}: seat {instance.seat} of game {instance.game_id} is there twice")
        seen.add((instance.game_id, instance.seat))
        turns[instance.game_id] = row.extra_info.turns
        instances.append(instance)
    return TrainingTable(path, about.get(SOURCE, ""), tuple(instances), sum(turns.values()))


def check_tables(train: TrainingTable, val: TrainingTable, tokens: int) -> None:
    """Refuse tables of different games, or with a token that a vocabulary of so many ``tokens`` lacks."""
    if train.source != val.source:
        raise CorruptError(f"{train.path} and {val.path} were made of different games; convert them again")
    both = train.states & val.states
    if both:
        raise CorruptError(f"state {min(both)} is in {train.path} and in {val.path}, which are split by state")
    for table in (train, val):
        most = max((int(instance.ids.max()) for instance in table.instances), default=-1)
        if most >= tokens:
            raise CorruptError(f"{table.path}: token {most}, but the model has {tokens}: other games, or another model")
