"""Lessons without games: a player whose controller follows from what it sees and from its controller before."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from selfplay.learner.imitation import Emphasis, Imitator, Lesson
from selfplay.policy.network import ActorCritic
from tests.learner.batches import seeded
from tests.policy.networks import HEADS

SIZES = (2,) * HEADS.binary + HEADS.sizes


def plain(heads: Any = HEADS) -> Emphasis:
    return Emphasis(torch.ones(heads.binary))


def actions(shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    parts = [torch.randint(0, size, shape, generator=seeded(seed + i)) for i, size in enumerate(SIZES)]
    return torch.stack(parts, -1).to(torch.int8)


def rows(count: int = 64, seed: int = 0) -> Lesson:
    obs = torch.randn(count, 4, generator=seeded(seed))
    return Lesson(obs, actions((count,), seed + 10), actions((count,), seed + 20))


def windows(lanes: int = 3, steps: int = 12, seed: int = 0) -> Lesson:
    """One long stretch of each lane, with the end of a game in it and less at the end of the last lane."""
    fresh = torch.zeros(lanes, steps, dtype=torch.bool)
    fresh[:, 0] = True
    fresh[0, 5] = True
    mask = torch.ones(lanes, steps, dtype=torch.bool)
    mask[-1, -3:] = False
    obs = torch.randn(lanes, steps, 4, generator=seeded(seed))
    return Lesson(obs, actions((lanes, steps), seed + 10), actions((lanes, steps), seed + 20), mask, fresh)


def cut(lesson: Lesson, length: int) -> list[Lesson]:
    """The same, in windows of ``length`` decisions."""
    return [
        Lesson(*(getattr(lesson, name)[:, t : t + length] for name in ("obs", "action", "last", "mask", "fresh")))
        for t in range(0, lesson.obs.shape[1], length)
    ]


@contextmanager
def imitator(
    network: ActorCritic, emphasis: Emphasis | None = None, rate: float = 1e-2, threads: int = 1
) -> Iterator[Imitator]:
    torch.set_num_threads(1)
    made = Imitator(network, emphasis or plain(), rate, 1.0, threads)
    try:
        yield made
    finally:
        made.close()
