"""The distribution that replies are sampled from: the one place that sampler and learner both ask.

Letters in shapes: N positions, V tokens of the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Sampling:
    """How replies are sampled.

    A temperature of 0 takes the likeliest token, and then ``top_p`` means nothing.
    """

    temperature: float = 1.0
    top_p: float = 1.0  # the smallest set of likeliest tokens that is at least so likely together; 1: all tokens
    max_new_tokens: int = 256  # of a reply, the one that ends it included

    @property
    def greedy(self) -> bool:
        """Whether nothing is left to chance."""
        return self.temperature == 0.0


def log_distribution(logits: Tensor, sampling: Sampling) -> Tensor:
    """[N, V] log-probabilities of the next token: softened or sharpened, then cut to the nucleus and renormalised.

    Tokens outside of the nucleus have minus infinity. With temperature 0 it is the model's own distribution, of which
    the likeliest token is taken.
    """
    logits = logits.float()
    if not sampling.greedy and sampling.temperature != 1.0:
        logits = logits / sampling.temperature
    logprobs = torch.log_softmax(logits, -1)
    if sampling.greedy or sampling.top_p >= 1.0:
        return logprobs
    ordered, order = torch.sort(logprobs, descending=True)
    before = torch.cumsum(ordered.exp(), -1) - ordered.exp()  # mass of what is likelier
    outside = torch.zeros_like(logprobs, dtype=torch.bool).scatter(-1, order, before >= sampling.top_p)
    return torch.log_softmax(logits.masked_fill(outside, -torch.inf), -1)
