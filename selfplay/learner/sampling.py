"""The sampling distribution of replies, for sampler and learner alike.

Letters in shapes: N positions, V tokens of the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling settings. Temperature 0 is greedy and ignores ``top_p``."""

    temperature: float = 1.0
    top_p: float = 1.0  # probability mass of the nucleus; 1: all tokens
    max_new_tokens: int = 256  # per reply, including the end-of-turn token

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0


def log_distribution(logits: Tensor, sampling: Sampling) -> Tensor:
    """[N, V] log-probabilities of the next token, with temperature and nucleus applied.

    Tokens outside of the nucleus have minus infinity. With temperature 0 it is the model's own distribution.
    """
    logits = logits.float()
    if not sampling.greedy and sampling.temperature != 1.0:
        logits = logits / sampling.temperature
    logprobs = torch.log_softmax(logits, -1)
    if sampling.greedy or sampling.top_p >= 1.0:
        return logprobs
    ordered, order = torch.sort(logprobs, descending=True)
    before = torch.cumsum(ordered.exp(), -1) - ordered.exp()  # mass of more likely tokens
    outside = torch.zeros_like(logprobs, dtype=torch.bool).scatter(-1, order, before >= sampling.top_p)
    return torch.log_softmax(logits.masked_fill(outside, -torch.inf), -1)
