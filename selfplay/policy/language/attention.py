"""Attention over a cache whose columns are the positions of a conversation.

The mask follows from the positions of the new tokens.
Letters in shapes: R rows, N new tokens of each, L columns, H heads, K of them for keys and values, D their width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface
from transformers.cache_utils import Cache
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

NAME: Final = "selfplay"  # name of this attention in transformers


def attend(
    module: torch.nn.Module,
    query: Tensor,  # [R, H, N, D]
    key: Tensor,  # [R, K, L, D]
    value: Tensor,
    attention_mask: Tensor | None,  # [R, 1, N, L] True: visible; None: causal
    scaling: float | None = None,
    softcap: float | None = None,  # bound of the scores
    s_aux: Tensor | None = None,  # [H] attention sinks
    **_: object,
) -> tuple[Tensor, None]:
    """Attention of a layer. For a single new token, keys shared by heads are not repeated."""
    rows, heads, new, _width = query.shape
    shared = key.shape[1]
    grouped = attention_mask is not None and new == 1 and heads != shared and softcap is None and s_aux is None
    if grouped:
        query = query.view(rows, shared, heads // shared, query.shape[-1])
    elif heads != shared:
        key, value = (part.repeat_interleave(heads // shared, 1) for part in (key, value))
    if softcap is None and s_aux is None:
        causal = attention_mask is None and new > 1
        out = scaled_dot_product_attention(query, key, value, attn_mask=attention_mask, is_causal=causal, scale=scaling)
    else:
        out = _unfused(query, key, value, attention_mask, scaling, softcap, s_aux)
    if grouped:
        return out.reshape(rows, 1, heads, value.shape[-1]), None
    return out.transpose(1, 2).contiguous(), None


def _unfused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    scaling: float | None,
    softcap: float | None,
    sinks: Tensor | None,
) -> Tensor:
    """Attention with a soft cap or sinks, which the fused kernel lacks."""
    scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if mask is None:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    scores = scores.float().masked_fill(~mask, -torch.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks.float().view(1, -1, 1, 1).expand(*scores.shape[:3], 1)], -1)
    return scores.softmax(-1)[..., : key.shape[2]].to(value.dtype) @ value


AttentionInterface.register(NAME, attend)
ALL_MASK_ATTENTION_FUNCTIONS.register(NAME, ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])


def pad_left(pieces: Sequence[Sequence[int]], firsts: Sequence[int], padding: int) -> tuple[Tensor, Tensor]:
    """Tokens [R, N] and their positions [R, N], padded on the left at a position that must never be visible.

    ``pieces`` are the new tokens of each row, at least one, and ``firsts`` the positions of the first of them.
    """
    longest = max(map(len, pieces))
    gaps = [longest - len(piece) for piece in pieces]
    ids = [[0] * gap + list(piece) for gap, piece in zip(gaps, pieces, strict=True)]
    at = [
        [padding] * gap + list(range(first, first + len(piece)))
        for gap, piece, first in zip(gaps, pieces, firsts, strict=True)
    ]
    return torch.tensor(ids), torch.tensor(at)


class ColumnCache(Cache):
    """Keys and values of R conversations, one column per position (a ``Cache`` of transformers).

    ``parts`` are keys and values of each layer in turn, [R, L, K, D] each. Call ``place`` before each forward pass;
    each layer then calls ``tick``.
    """

    def __init__(self, parts: Sequence[Tensor], tick: Callable[[], object] = lambda: None) -> None:
        super().__init__(layers=[])
        self.parts = parts
        self._tick = tick
        self._rows = torch.arange(parts[0].shape[0], device=parts[0].device)[:, None]
        self._at = self._rows
        self._width = 0

    def place(self, at: Tensor, width: int) -> None:
        """Set the columns [R, N] of the new tokens, and the number of columns in use."""
        self._at = at
        self._width = width

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        """Write [R, K, N, D]; returns all columns in use, [R, K, L, D]."""
        self._tick()
        seen = []
        for kept, new in zip(self.parts[2 * layer_idx : 2 * layer_idx + 2], (key_states, value_states), strict=True):
            kept[self._rows, self._at] = new.transpose(1, 2)
            seen.append(kept[:, : self._width].transpose(1, 2))
        return seen[0], seen[1]

    def get_seq_length(self, layer_idx: int = 0, *_: object, **__: object) -> int:
        """Not used, since every forward pass has explicit positions."""
        return 0
