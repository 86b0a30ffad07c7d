"""Many threads, one forward: whoever asks a network while it works is answered with all others who did.

Each block of one game asks about a row or two, and a forward costs much the same for two rows as for twenty. Nobody
waits for company, and there is no thread that serves: the first to ask computes at once, those who ask meanwhile queue,
and then one of them computes for all of them (flat combining, Hendler et al. 2010).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from selfplay.policy.memory import Answer, directly

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic


class _Request:
    """The rows of one thread, and where their answer goes."""

    __slots__ = ("answer", "error", "memory", "obs", "woken")

    def __init__(self, obs: Tensor, memory: Tensor | None) -> None:
        self.obs = obs
        self.memory = memory
        self.answer: Answer | None = None
        self.error: BaseException | None = None
        self.woken = threading.Event()  # answered, or to compute for all who wait


class Together:
    """Asks networks for any number of threads (``memory.Ask``).

    The rows of a thread come back in their order. They equal what the network would have said of them alone, but for
    the rounding of sums, which may depend on the number of rows beside them.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: dict[ActorCritic, list[_Request]] = {}  # by network; one that is here is being asked

    def __call__(self, network: ActorCritic, obs: Tensor, memory: Tensor | None) -> Answer:
        """See ``memory.Ask``. What the network raises reaches all who were asked about at once."""
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
        """Answer all who wait for a network, then let one of those compute who have come meanwhile."""
        with self._mutex:
            requests, self._waiting[network] = self._waiting[network], []
        try:
            answers = _ask_once(network, requests)
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


def _ask_once(network: ActorCritic, requests: Sequence[_Request]) -> list[Answer]:
    """One forward for the rows of all requests."""
    memories = [request.memory for request in requests if request.memory is not None]
    memory = torch.cat(memories) if memories else None
    logits, value, after = directly(network, torch.cat([request.obs for request in requests]), memory)
    sizes = [len(request.obs) for request in requests]
    shares = [torch.split(part, sizes) for part in (logits, value)]
    afters = [None] * len(requests) if after is None else torch.split(after, sizes)
    return list(zip(*shares, afters, strict=True))
