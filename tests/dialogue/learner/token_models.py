"""Small models of tokens, and games that they might have played."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from selfplay.dialogue.grpo import GRPOLearner, GRPOStatistics
from selfplay.dialogue.instances import DialogueGroup, Instance, grouped
from selfplay.learner.grpo_loss import GRPOSettings
from selfplay.learner.sampling import Sampling
from selfplay.learner.sharding import ShardedModel
from selfplay.learner.token_batch import TokenBatch

VOCABULARY = 11
LENGTH = 24


class TinyTransformer(nn.Module):
    """One causal layer with learned positions."""

    def __init__(self, seed: int = 0, width: int = 16) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embedding = nn.Embedding(VOCABULARY, width)
            self.position = nn.Embedding(LENGTH, width)
            self.attention = nn.Linear(width, 3 * width)
            self.hidden = nn.Linear(width, 2 * width)
            self.out = nn.Linear(2 * width, VOCABULARY)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids) + self.position.weight[: ids.shape[1]]
        query, key, value = self.attention(x).chunk(3, -1)
        x = x + nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(torch.tanh(self.hidden(x)))


class Cells(nn.Module):
    """A free logit for each vocabulary entry at each place of each row, whose first token is its number."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.cells = nn.Parameter(torch.randn(rows, LENGTH, VOCABULARY, generator=torch.Generator().manual_seed(3)))

    def forward(self, ids: Tensor) -> Tensor:
        return self.cells[ids[:, 0], : ids.shape[1]]


class Model:
    """``TokenModel`` of a module that gives logits [B, T, V]."""

    vocabulary = VOCABULARY

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.head = nn.Identity()

    def hidden(self, tokens: TokenBatch) -> Tensor:
        return self.module(tokens.ids)[:, :-1][tokens.where[:, 1:]]

    @contextmanager
    def active(self) -> Iterator["Model"]:
        yield self


@contextmanager
def learning(
    module: nn.Module,
    sampling: Sampling | None = None,
    *,
    reference: nn.Module | None = None,
    threads: int = 1,
    shared: ShardedModel | None = None,
    **settings: Any,
) -> Iterator[GRPOLearner]:
    learner = GRPOLearner(
        Model(module),
        GRPOSettings(**settings),
        sampling or Sampling(),
        reference=None if reference is None else Model(reference),
        threads=threads,
        shared=shared,
    )
    try:
        yield learner
    finally:
        learner.close()


def instance(
    ids: Sequence[int], sampled: Sequence[int], reward: float = 0.0, index: int = 0, game: str = "a", seat: int = 0
) -> Instance:
    """With the log-probability 0 of all tokens; ``scored`` gives others."""
    marks = np.zeros(len(ids), np.bool_)
    marks[list(sampled)] = True
    return Instance(index, game, seat, np.array(ids, np.int32), marks, np.zeros(len(ids), np.float32), reward)


def random_games(states: int = 6, games: int = 4, seed: int = 0) -> list[Instance]:
    """Both seats of games of random words, of different lengths; what is sampled comes in turns."""
    rng = np.random.default_rng(seed)
    made = []
    for index in range(states):
        for game in range(games):
            reward = float(rng.random())
            for seat in range(2):
                length = int(rng.integers(6, LENGTH))
                sampled = rng.random(length) < 0.5
                sampled[0], sampled[3] = False, True
                ids = rng.integers(0, VOCABULARY, length)
                made.append(
                    instance(ids.tolist(), np.flatnonzero(sampled).tolist(), reward, index, f"{index}/{game}", seat)
                )
    return made


def scored(module: nn.Module, instances: Sequence[Instance], sampling: Sampling | None = None) -> list[Instance]:
    """As if the module had sampled them."""
    with learning(module, sampling) as learner:
        logprobs = learner.logprobs(instances)
    return [replace(each, logprob=logprob) for each, logprob in zip(instances, logprobs, strict=True)]


def games_of(module: nn.Module, sampling: Sampling | None = None, **options: int) -> list[DialogueGroup]:
    return grouped(scored(module, random_games(**options), sampling))


def update(
    module: nn.Module, groups: Sequence[DialogueGroup], sampling: Sampling | None = None, seed: int = 0, **settings: Any
) -> GRPOStatistics:
    with learning(module, sampling, **settings) as learner:
        return learner.update(groups, torch.Generator().manual_seed(seed))


def weights(module: nn.Module) -> Tensor:
    """All parameters in one copied row."""
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()]).clone()
