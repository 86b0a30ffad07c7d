"""Attention over a cache in which every row stands where it stands.

Columns of the cache are positions of a conversation, so that the mask follows from where a row's new tokens stand.
Letters in shapes: R rows, N new tokens of each, L columns, H heads, K of them for keys and values, D their width.
"""

from __future__ import annotations

from typing import Any, Final

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
    **_: Any,  # noqa: ANN401
) -> tuple[Tensor, None]:
    """Heads that share keys are taken together, and keys are never repeated for them where one token is new."""
    rows, heads, new, width = query.shape
    shared = key.shape[1]
    if attention_mask is not None and new == 1 and heads != shared:
        grouped = query.view(rows, shared, heads // shared, width)
        out = scaled_dot_product_attention(grouped, key, value, attn_mask=attention_mask, scale=scaling)
        return out.reshape(rows, 1, heads, width), None
    if heads != shared:
        key, value = (part.repeat_interleave(heads // shared, 1) for part in (key, value))
    causal = attention_mask is None and new > 1
    out = scaled_dot_product_attention(query, key, value, attn_mask=attention_mask, is_causal=causal, scale=scaling)
    return out.transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, attend)
ALL_MASK_ATTENTION_FUNCTIONS.register(NAME, ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])


class Columns(Cache):
    """Keys and values of R conversations, one column a position (a ``Cache`` of transformers).

    ``keys`` and ``values`` are [layers, R, L, K, D]. Before a forward, ``place`` says where its tokens stand.
    """

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        self.keys = keys
        self.values = values
        self._rows = torch.arange(keys.shape[1], device=keys.device)[:, None]
        self._at = self._rows
        self._width = 0

    def place(self, at: Tensor, width: int) -> None:
        """Columns [R, N] of the new tokens, and how many columns matter."""
        self._at = at
        self._width = width

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        """Write [R, K, N, D], and give all that is there, [R, K, L, D]."""
        seen = []
        for kept, new in ((self.keys[layer_idx], key_states), (self.values[layer_idx], value_states)):
            kept[self._rows, self._at] = new.transpose(1, 2)
            seen.append(kept[:, : self._width].transpose(1, 2))
        return seen[0], seen[1]

    def get_seq_length(self, layer_idx: int = 0, *_: Any, **__: Any) -> int:  # noqa: ANN401
        """Positions are given with every forward, so that nothing follows from this."""
        return 0
