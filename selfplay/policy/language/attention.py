"""Attention over a cache in which every row stands where it stands.

Columns of the cache are positions of a conversation, so that the mask follows from where a row's new tokens stand.
Letters in shapes: R rows, N new tokens of each, L columns, H heads, K of them for keys and values, D their width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface
from transformers.cache_utils import Cache
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

NAME: Final = "selfplay"
"""Of this attention, where a model is told which one to use."""


def attend(
    module: torch.nn.Module,
    query: Tensor,  # [R, H, N, D]
    key: Tensor,  # [R, K, L, D]
    value: Tensor,
    attention_mask: Tensor | None,  # [R, 1, N, L] whether seen; None: whatever is not later
    scaling: float | None = None,
    softcap: float | None = None,  # scores are bent to stay within it
    s_aux: Tensor | None = None,  # [H] scores of nothing at all, which takes its share of the attention
    **_: object,
) -> tuple[Tensor, None]:
    """Heads that share keys are taken together, and keys are never repeated for them where one token is new."""
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
        out = _spelled_out(query, key, value, attention_mask, scaling, softcap, s_aux)
    if grouped:
        return out.reshape(rows, 1, heads, value.shape[-1]), None
    return out.transpose(1, 2).contiguous(), None


def _spelled_out(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    scaling: float | None,
    softcap: float | None,
    sinks: Tensor | None,
) -> Tensor:
    """What the fused attention cannot do."""
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


def lay_out(pieces: Sequence[Sequence[int]], firsts: Sequence[int], trash: int) -> tuple[Tensor, Tensor]:
    """Tokens [R, N] of pieces that are to be read, and where they stand; the last of each is in the last place.

    Args:
        pieces: New tokens of each row, one at least.
        firsts: Where the first of them stands.
        trash: Column that shorter rows are padded into, in front; nobody may see it.
    """
    longest = max(map(len, pieces))
    gaps = [longest - len(piece) for piece in pieces]
    ids = [[0] * gap + list(piece) for gap, piece in zip(gaps, pieces, strict=True)]
    at = [
        [trash] * gap + list(range(first, first + len(piece)))
        for gap, piece, first in zip(gaps, pieces, firsts, strict=True)
    ]
    return torch.tensor(ids), torch.tensor(at)


class Columns(Cache):
    """Keys and values of R conversations, one column a position (a ``Cache`` of transformers).

    ``parts`` are keys and values of each layer in turn, [R, L, K, D] each. Before a forward, ``place`` says where its
    tokens stand.
    """

    def __init__(self, parts: Sequence[Tensor]) -> None:
        super().__init__(layers=[])
        self.parts = parts
        self._rows = torch.arange(parts[0].shape[0], device=parts[0].device)[:, None]
        self._at = self._rows
        self._width = 0

    def place(self, at: Tensor, width: int) -> None:
        """Columns [R, N] of the new tokens, and how many columns matter."""
        self._at = at
        self._width = width

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        """Write [R, K, N, D], and give all that is there, [R, K, L, D]."""
        seen = []
        for kept, new in zip(self.parts[2 * layer_idx : 2 * layer_idx + 2], (key_states, value_states), strict=True):
            kept[self._rows, self._at] = new.transpose(1, 2)
            seen.append(kept[:, : self._width].transpose(1, 2))
        return seen[0], seen[1]

    def get_seq_length(self, layer_idx: int = 0, *_: object, **__: object) -> int:
        """Positions are given with every forward, so that nothing follows from this."""
        return 0
