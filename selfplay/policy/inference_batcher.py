"""Batches the inference requests of many threads into one forward pass.

A block of one game requests a row or two, and a forward pass costs about the same for two rows as for twenty. Requests
are never delayed to fill a batch, and there is no server thread: the first request is computed at once by its own
thread, later ones queue, and then one of their threads computes all of them (flat combining, Hendler et al. 2010).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from selfplay.policy.recurrent_state import Answer, infer_directly

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic


@dataclass(slots=True, eq=False)
class _Request:
    """The rows of one thread and their answer."""

    obs: Tensor
    memory: Tensor | None
    answer: Answer | None = None
    error: BaseException | None = None
    woken: threading.Event = field(default_factory=threading.Event)
    """Set when answered, or when this thread has to compute the queue."""


class InferenceBatcher:
    """Runs networks for any number of threads (``recurrent_state.Infer``).

    The answer for a thread's rows is in their order. It equals that of a separate call but for rounding, which may
    depend on the number of rows in the batch.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: dict[ActorCritic, list[_Request]] = {}  # by network; a network with an entry is being run

    def __call__(self, network: ActorCritic, obs: Tensor, memory: Tensor | None) -> Answer:
        """See ``recurrent_state.Infer``. An error of the network is raised in all threads of the batch."""
        mine = _Request(obs, memory)
        with self._mutex:
            computes = network not in self._waiting
            self._waiting.setdefault(network, []).append(mine)
        if not computes:
            mine.woken.wait()
        if mine.answer is None and mine.error is None:
            self._compute(network)
        if mine.answer is None:
            raise mine.error or RuntimeError("a request to a network was forgotten")
        return mine.answer

    def _compute(self, network: ActorCritic) -> None:
        """Answer all waiting requests, then wake one of those that have arrived meanwhile to compute the next batch."""
        with self._mutex:
            requests, self._waiting[network] = self._waiting[network], []
        try:
            answers = _infer_once(network, requests)
        except BaseException as error:
            for request in requests:
                request.error = error
        else:
            for request, answer in zip(requests, answers, strict=True):
                request.answer = answer
        with self._mutex:
            following = self._waiting[network][:1]
            if not following:
                del self._waiting[network]
        for request in (*following, *requests):
            request.woken.set()


def _infer_once(network: ActorCritic, requests: Sequence[_Request]) -> list[Answer]:
    memories = [request.memory for request in requests if request.memory is not None]
    memory = torch.cat(memories) if memories else None
    logits, value, after = infer_directly(network, torch.cat([request.obs for request in requests]), memory)
    sizes = [len(request.obs) for request in requests]
    shares = [torch.split(part, sizes) for part in (logits, value)]
    afters = [None] * len(requests) if after is None else torch.split(after, sizes)
    return list(zip(*shares, afters, strict=True))
