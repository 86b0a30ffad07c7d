"""Experiences of dialogue games: each game once per seat, in groups of comparable rewards.

Letters in shapes: T tokens of a conversation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Instance:
    """One game from one seat, or a turn of it. Sampled ids are those of the model, never re-encoded from text."""

    index: int  # the initial state; both instances of a game share it, and so do all games on that state
    game_id: str
    seat: int
    ids: NDArray[np.int32]  # [T] all that the seat read and wrote, prompt included
    sampled: NDArray[np.bool_]  # [T] tokens that this policy sampled, the ends of its turns included
    logprob: NDArray[np.float32]  # [T] of the sampling distribution, where sampled (NaN: not known); 0 elsewhere
    reward: float  # of the game, for this seat

    @property
    def written(self) -> int:
        return int(self.sampled.sum())

    @property
    def known(self) -> bool:
        return not bool(np.isnan(self.logprob).any())


@dataclass(frozen=True, slots=True)
class DialogueGroup:
    """Games on one initial state from one seat, whose rewards are comparable."""

    index: int
    seat: int
    instances: tuple[Instance, ...]  # those of a game follow on each other

    @property
    def rewards(self) -> NDArray[np.float64]:
        """[G] of the games, however many instances they have."""
        return np.array(list({instance.game_id: instance.reward for instance in self.instances}.values()))

    @property
    def rows(self) -> list[int]:
        """[G] instances of each game."""
        return list(Counter(instance.game_id for instance in self.instances).values())


def grouped(instances: Iterable[Instance]) -> list[DialogueGroup]:
    """Instances by (index, seat), in the order of those; in whatever order the games came to an end.

    Instances without a sampled token are left out.
    """
    groups: dict[tuple[int, int], list[Instance]] = {}
    for instance in instances:
        if instance.written:
            groups.setdefault((instance.index, instance.seat), []).append(instance)
    return [
        DialogueGroup(index, seat, tuple(sorted(found, key=lambda instance: instance.game_id)))
        for (index, seat), found in sorted(groups.items())
    ]


def scored(
    instances: Sequence[Instance], score: Callable[[Sequence[Instance]], Sequence[NDArray[np.float32]]]
) -> list[Instance]:
    """Instances, in their order, with log-probabilities of ``score`` in place of those that are not known.

    Args:
        instances: Those of which all are known stay as they are, and are not scored.
        score: [T] of each instance, by the model that the ratio is to be taken to (``GRPOLearner.logprobs``).

    A token that this model would not have sampled, minus infinity, counts as certain: its ratio is next to 0 then,
    and so is what it teaches.
    """
    unknown = [i for i, instance in enumerate(instances) if not instance.known]
    if not unknown:
        return list(instances)
    found = list(instances)
    bare = [replace(found[i], logprob=np.nan_to_num(found[i].logprob, nan=0.0)) for i in unknown]
    for i, instance, scores in zip(unknown, bare, score(bare), strict=True):
        filled = np.where(np.isnan(found[i].logprob), np.where(np.isneginf(scores), 0.0, scores), instance.logprob)
        found[i] = replace(instance, logprob=filled.astype(np.float32))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class TokenColumns:
    """An instance as columns over its tokens, all [T] without padding, for trainers that read files."""

    input_ids: NDArray[np.int64]
    attention_mask: NDArray[np.int8]  # 1 everywhere
    position_ids: NDArray[np.int64]  # sum of the attention mask before the token
    loss_mask: NDArray[np.int8]  # labels: 1 where this policy sampled the token, the ends of its turns included
    reward_mask: NDArray[np.int8]  # 1 at the last of those, else 0
    old_log_probs: NDArray[np.float32]  # of the sampling distribution, 0 where nothing was sampled

    def differences(self, other: TokenColumns) -> list[str]:
        names = [field.name for field in fields(self)]
        return [name for name in names if not np.array_equal(getattr(self, name), getattr(other, name))]


def columns_of(instance: Instance) -> TokenColumns:
    """The columns of an instance; of one that sampled nothing, no token has the reward."""
    tokens = len(instance.ids)
    attention = np.ones(tokens, np.int8)
    reward = np.zeros(tokens, np.int8)
    reward[np.flatnonzero(instance.sampled)[-1:]] = 1
    return TokenColumns(
        input_ids=instance.ids.astype(np.int64),
        attention_mask=attention,
        position_ids=np.cumsum(attention, dtype=np.int64) - 1,
        loss_mask=instance.sampled.astype(np.int8),
        reward_mask=reward,
        old_log_probs=np.where(instance.sampled, instance.logprob, 0).astype(np.float32),
    )
