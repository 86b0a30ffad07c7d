"""Packs the instances of an update for the learner: which of them train, with which advantage, and as which row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from selfplay.errors import LearnerError
from selfplay.learner.advantages import group_advantages
from selfplay.learner.token_batch import TrainingRow

if TYPE_CHECKING:
    from selfplay.dialogue.instances import DialogueGroup, Instance
    from selfplay.learner.advantages import Advantage, RoleEMA


@dataclass(frozen=True, slots=True)
class AdvantageBatch:
    """Instances that train, each with its advantage, and the number of groups of each kind."""

    instances: tuple[tuple[Instance, float], ...]
    groups: int
    singletons: int  # groups of one game
    zero_variance: int  # larger groups with equal rewards


def with_advantages(
    groups: Iterable[DialogueGroup], kind: Advantage, baseline: RoleEMA | None = None
) -> AdvantageBatch:
    """Advantages of all games of an update.

    Without a baseline, groups of one game and groups of equal rewards have no advantages: they are counted and left
    out. A baseline replaces ``kind``: groups of every size train, and the call updates it.

    Raises:
        LearnerError: a reward is not finite.
    """
    groups = list(groups)
    rewards = [group.rewards for group in groups]
    for group, those in zip(groups, rewards, strict=True):
        if not np.isfinite(those).all():
            raise LearnerError(f"state {group.index}, seat {group.seat}: a reward is not finite: {those}")
    alone = [len(those) == 1 for those in rewards]
    even = [len(those) > 1 and bool(np.ptp(those) == 0) for those in rewards]
    if baseline is not None:
        values = baseline.advantages([group.seat for group in groups], rewards)
        kept = [True] * len(groups)
    else:
        values = [group_advantages(those, kind) for those in rewards]
        kept = [not (single or same) for single, same in zip(alone, even, strict=True)]
    return AdvantageBatch(
        tuple(
            (instance, float(advantage))
            for group, advantages, keep in zip(groups, values, kept, strict=True)
            if keep
            for instance, advantage in zip(group.instances, np.repeat(advantages, group.rows), strict=True)
        ),
        groups=len(groups),
        singletons=sum(alone),
        zero_variance=sum(even),
    )


def row_of(instance: Instance, advantage: float = 0.0) -> TrainingRow:
    """The row of an instance.

    Raises:
        LearnerError: lengths differ, nothing was sampled, the first token was, or a log-probability is not finite.
    """
    ids, sampled = instance.ids, instance.sampled
    where = f"game {instance.game_id}, seat {instance.seat}"
    if not len(ids) == len(sampled) == len(instance.logprob):
        lengths = f"{len(ids)} ids, {len(sampled)} marks, {len(instance.logprob)} log-probabilities"
        raise LearnerError(f"{where}: {lengths}: different lengths")
    places = np.flatnonzero(sampled)
    if not len(places) or places[0] == 0:
        raise LearnerError(
            f"{where}: " + ("no token was sampled" if not len(places) else "its first token was sampled")
        )
    logprob = instance.logprob[places].astype(np.float32)
    if not np.isfinite(logprob).all():
        raise LearnerError(f"{where}: a log-probability is not finite")
    end = int(places[-1]) + 1
    return TrainingRow(ids[:end].astype(np.int64), sampled[:end].astype(np.bool_), logprob, advantage)
