"""Layers that remember: GRU, LSTM, a selective state space ("mamba"), attention over a sliding window.

Each is a residual block, x + core(norm(x)), of one width W, and has two ways to be run that give the same outputs:
``step`` for play, one decision at a time, and ``unroll`` for training, T decisions at once. What it remembers is one
row of numbers a player, [N, M], all zeros at the start of an episode; ``fresh`` [N, T] says where one begins inside
an unroll, and nothing from before reaches what comes after. ``browser/network.js`` has ``step`` of GRU and LSTM.

Letters in shapes: N players, T decisions, W width, M numbers remembered, H heads.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

CHUNK: Final = 64  # decisions that a parallel unroll takes at once: its work grows with their square
HEAD_WIDTH: Final = 32
# cuDNN wants the weights of a layer in one piece and copies them at each call; they are small.
warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")


class Remembering(nn.Module, ABC):
    """A layer with memory."""

    memory_width: int  # M

    @abstractmethod
    def step(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """One decision: x [N, W] and memory [N, M] to outputs [N, W] and the memory after it."""

    @abstractmethod
    def unroll(self, x: Tensor, memory: Tensor, fresh: Tensor) -> tuple[Tensor, Tensor]:
        """T decisions: x [N, T, W], the memory before the first [N, M] and fresh [N, T] to [N, T, W] and memory."""


class _Cell(Remembering):
    """Layers whose next state needs the last one. Unrolled by torch's own loop, from each fresh start to the next."""

    def __init__(self, width: int, gates: int, parts: int) -> None:
        super().__init__()
        self.memory_width = parts * width
        self.norm = nn.LayerNorm(width)
        self.input = nn.Linear(width, gates * width)
        self.hidden = nn.Linear(width, gates * width)

    def step(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        out, memory = self._next(self.input(self.norm(x)), memory)
        return x + out, memory

    def unroll(self, x: Tensor, memory: Tensor, fresh: Tensor) -> tuple[Tensor, Tensor]:
        normed = self.norm(x)
        keep = (~fresh).to(x.dtype)[..., None]
        starts = [0, *(fresh[:, 1:].any(0).nonzero()[:, 0] + 1).tolist(), x.shape[1]]
        outputs = []
        for begin, end in pairwise(starts):
            out, memory = self._run(normed[:, begin:end], memory * keep[:, begin])
            outputs.append(out)
        return x + torch.cat(outputs, 1), memory

    @property
    def _weights(self) -> list[Tensor]:
        return [self.input.weight, self.hidden.weight, self.input.bias, self.hidden.bias]

    @abstractmethod
    def _run(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs [N, T, W] and the memory after them, of inputs [N, T, W] in one episode."""

    @abstractmethod
    def _next(self, driven: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Output [N, W] and memory from the input's share of the gates."""


class GRU(_Cell):
    """Gated recurrent unit (Cho et al. 2014, https://arxiv.org/abs/1406.1078).

    r = s(a_r + b_r), z = s(a_z + b_z), n = tanh(a_n + r b_n), h' = n + z (h - n)

    with a linear in the input, b in h, and s the logistic function. The reset gate r acts behind the product with h,
    as in ``torch.nn.GRU``; in the paper it acts before.
    """

    def __init__(self, width: int) -> None:
        super().__init__(width, gates=3, parts=1)

    def _next(self, driven: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        a_r, a_z, a_n = driven.chunk(3, -1)
        b_r, b_z, b_n = self.hidden(memory).chunk(3, -1)
        new = torch.tanh(a_n + torch.sigmoid(a_r + b_r) * b_n)
        after = torch.lerp(new, memory, torch.sigmoid(a_z + b_z))
        return after, after

    def _run(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        out, after = torch.gru(x, memory[None], self._weights, True, 1, 0.0, self.training, False, True)
        return out, after[0]


class LSTM(_Cell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997) with a forget gate; memory is (h, c)."""

    def __init__(self, width: int) -> None:
        super().__init__(width, gates=4, parts=2)

    def _next(self, driven: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        hidden, cell = memory.chunk(2, -1)
        enter, forget, new, leave = (driven + self.hidden(hidden)).chunk(4, -1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
        hidden = torch.sigmoid(leave) * torch.tanh(cell)
        return hidden, torch.cat([hidden, cell], -1)

    def _run(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        before = [part.contiguous()[None] for part in memory.chunk(2, -1)]
        out, *after = torch.lstm(x, before, self._weights, True, 1, 0.0, self.training, False, True)
        return out, torch.cat([part[0] for part in after], -1)


class Mamba(Remembering):
    """A selective state space: what is kept, taken in and read out depends on the input.

    With a head's inputs x_t [P], decay d_t = exp(-D_t e^a), and B_t, C_t [S] shared by the heads:

        h_t = d_t h_{t-1} + D_t x_t B_t^T,    y_t = h_t C_t + skip x_t

    behind a causal convolution over ``TAPS`` decisions and before a gate (Gu and Dao 2023,
    https://arxiv.org/abs/2312.00752; one decay a head and the parallel form by matrix products as in Dao and Gu 2024,
    https://arxiv.org/abs/2405.21060). Memory: the last TAPS - 1 inputs of the convolution, then h.
    """

    TAPS: Final = 4

    def __init__(self, width: int, state: int = 16, expand: int = 2) -> None:
        super().__init__()
        self.inner, self.state = expand * width, state
        self.heads = max(1, self.inner // HEAD_WIDTH)
        self.mixed = self.inner + 2 * state  # input channels of the convolution: x, B, C
        self.memory_width = (self.TAPS - 1) * self.mixed + self.inner * state
        self.norm = nn.LayerNorm(width)
        self.input = nn.Linear(width, self.inner + self.mixed + self.heads)
        self.taps = nn.Parameter(torch.full((self.TAPS, self.mixed), 1.0 / self.TAPS))
        self.decay = nn.Parameter(torch.linspace(0.0, math.log(16.0), self.heads))  # a
        # D begins between 0.01 and 0.3: heads remember from a few decisions to a hundred
        first = torch.logspace(-2.0, math.log10(0.3), self.heads)
        self.delta = nn.Parameter(first + torch.log(-torch.expm1(-first)))  # the softplus of it is ``first``
        self.skip = nn.Parameter(torch.ones(self.heads))
        self.out_norm = nn.RMSNorm(self.inner, eps=1e-6)
        self.output = nn.Linear(self.inner, width)

    def step(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        gate, mixed, delta = self._project(x)
        tail, h = self._split(memory)
        recent = torch.cat([tail, mixed[:, None]], 1)
        values, b, c = self._parts((recent * self.taps).sum(1))
        decay = torch.exp(-delta * self.decay.exp())
        values = values.view(x.shape[0], self.heads, -1)
        h = decay[..., None, None] * h + (delta[..., None] * values)[..., None] * b[:, None, None]
        y = (h * c[:, None, None]).sum(-1) + self.skip[:, None] * values
        return self._leave(x, y.flatten(1), gate), self._join(recent[:, 1:], h)

    def unroll(self, x: Tensor, memory: Tensor, fresh: Tensor) -> tuple[Tensor, Tensor]:
        """See ``Remembering``; the parallel form, ``CHUNK`` decisions at a time."""
        outputs = []
        for part, new in zip(torch.split(x, CHUNK, 1), torch.split(fresh, CHUNK, 1), strict=True):
            out, memory = self._parallel(part, memory, new)
            outputs.append(out)
        return torch.cat(outputs, 1), memory

    def _parallel(self, x: Tensor, memory: Tensor, fresh: Tensor) -> tuple[Tensor, Tensor]:
        rows, steps, _ = x.shape
        gate, mixed, delta = self._project(x)
        tail, h = self._split(memory)
        episode = fresh.cumsum(1)  # [N, T] 0 where the memory before the unroll still counts
        recent, convolved = self._convolve(tail, mixed, episode)
        values, b, c = self._parts(convolved)
        values = values.view(rows, steps, self.heads, -1)
        # y_t = sum over s <= t of the same episode: (d_{s+1} ... d_t) (C_t . B_s) D_s x_s
        log_decay = (-delta * self.decay.exp()).cumsum(1).transpose(1, 2)  # [N, H, T]
        causal = torch.ones(steps, steps, dtype=torch.bool, device=x.device).tril()
        reaches = (episode[:, :, None] == episode[:, None, :]) & causal  # [N, T, T]
        span = log_decay[:, :, :, None] - log_decay[:, :, None, :]
        weights = span.masked_fill(~reaches[:, None], -math.inf).exp() * (c @ b.transpose(1, 2))[:, None]
        driven = (delta[..., None] * values).transpose(1, 2)  # [N, H, T, P]
        since = log_decay.masked_fill(episode[:, None] > 0, -math.inf).exp()  # [N, H, T] what is left of h before
        y = weights @ driven + since[..., None] * torch.einsum("nhps,nts->nhtp", h, c)
        y = y.transpose(1, 2) + self.skip[:, None] * values
        last = span[:, :, -1].masked_fill(~reaches[:, None, -1], -math.inf).exp()  # [N, H, T]
        h = since[:, :, -1, None, None] * h + torch.einsum("nhtp,nts->nhps", last[..., None] * driven, b)
        kept = episode[:, -1:] == functional.pad(episode, (self.TAPS - 1, 0))
        tail = (recent * kept[..., None])[:, -(self.TAPS - 1) :]
        return self._leave(x, y.flatten(2), gate), self._join(tail, h)

    def _convolve(self, tail: Tensor, mixed: Tensor, episode: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs with those before the unroll [N, T + TAPS - 1, C], and their causal convolution [N, T, C]."""
        before = self.TAPS - 1
        recent = torch.cat([tail, mixed], 1)
        times = functional.pad(episode, (before, 0))
        steps = mixed.shape[1]
        total = mixed * self.taps[before]
        for tap in range(before):
            same = (times[:, tap : tap + steps] == episode)[..., None]
            total = total + recent[:, tap : tap + steps] * same * self.taps[tap]
        return recent, total

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gate, mixed, delta = torch.split(self.input(self.norm(x)), [self.inner, self.mixed, self.heads], -1)
        return gate, mixed, functional.softplus(delta + self.delta)

    def _parts(self, convolved: Tensor) -> tuple[Tensor, ...]:
        return torch.split(functional.silu(convolved), [self.inner, self.state, self.state], -1)

    def _leave(self, x: Tensor, y: Tensor, gate: Tensor) -> Tensor:
        out: Tensor = x + self.output(self.out_norm(y * functional.silu(gate)))
        return out

    def _split(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        tail, h = torch.split(memory, [(self.TAPS - 1) * self.mixed, self.inner * self.state], -1)
        return tail.view(-1, self.TAPS - 1, self.mixed), h.view(memory.shape[0], self.heads, -1, self.state)

    @staticmethod
    def _join(tail: Tensor, h: Tensor) -> Tensor:
        return torch.cat([tail.flatten(1), h.flatten(1)], 1)


class Attention(Remembering):
    """Attention over this decision and the ``window`` - 1 before it, then two dense layers (Vaswani et al. 2017).

    The position of a key enters as a learned bias for each head and distance. Memory: keys and values of the last
    ``window`` - 1 decisions, and for each whether there is one.
    """

    def __init__(self, width: int, window: int = 60) -> None:
        super().__init__()
        self.window, self.width = window, width
        self.heads = max(1, width // HEAD_WIDTH)
        self.memory_width = (window - 1) * (2 * width + 1)
        self.norm = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.input = nn.Linear(width, 2 * width)
        self.output = nn.Linear(width, width)
        self.bias = nn.Parameter(torch.zeros(self.heads, window))
        self.dense_norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)

    def step(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        out, memory = self.unroll(x[:, None], memory, torch.zeros(x.shape[0], 1, dtype=torch.bool, device=x.device))
        return out[:, 0], memory

    def unroll(self, x: Tensor, memory: Tensor, fresh: Tensor) -> tuple[Tensor, Tensor]:
        rows, steps, width = x.shape
        before = self.window - 1
        normed = self.norm(x)
        past = memory.view(rows, before, 2 * width + 1)
        there = torch.cat([past[..., -1] > 0.5, torch.ones(rows, steps, dtype=torch.bool, device=x.device)], 1)
        both = torch.cat([past[..., :-1], self.input(normed)], 1)  # [N, before + T, 2 W]
        episode = fresh.cumsum(1)
        times = functional.pad(episode, (before, 0))
        place = torch.arange(before + steps, device=x.device)
        distance = place[before:, None] - place[None]  # [T, before + T]
        near = (distance >= 0) & (distance < self.window)
        seen = near & there[:, None] & (times[:, None] == episode[:, :, None])
        keys, values = both.view(rows, before + steps, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        query = self.query(normed).view(rows, steps, self.heads, -1).transpose(1, 2)
        bias = self.bias[:, distance.clamp(0, before)]
        score = query @ keys.transpose(2, 3) / math.sqrt(query.shape[-1]) + bias
        shares = torch.softmax(score.masked_fill(~seen[:, None], -math.inf), -1)
        mixed = (shares @ values).transpose(1, 2).flatten(2)
        x = x + self.output(mixed)
        x = x + self.narrow(functional.silu(self.widen(self.dense_norm(x))))
        kept = there & (times == episode[:, -1:])
        after = torch.cat([both, kept[..., None].to(both.dtype)], -1) * kept[..., None]
        return x, after[:, steps:].flatten(1)


LAYERS: Final[dict[str, type[Remembering]]] = {"gru": GRU, "lstm": LSTM, "mamba": Mamba, "attention": Attention}
"""Backbones with memory, by name."""
OPTIONS: Final[dict[str, frozenset[str]]] = {
    "attention": frozenset({"window"}),
    "mamba": frozenset({"state", "expand"}),
}
"""Names of the options of a backbone."""
