"""Attention over a cache whose columns are the positions of a conversation, and the check of a model that uses it.

The mask follows from the positions of the new tokens. No architecture is known here. ``check_cache`` compares the
logits of a model with the cache and without; models that cache anything but keys and values, or have an attention of
their own, fail.
Letters in shapes: R rows, N new tokens of each, L columns, H heads, K of them for keys and values, D their width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor
from torch.nn.functional import embedding, scaled_dot_product_attention
from transformers import AttentionInterface
from transformers.cache_utils import Cache
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from selfplay.dialogue.language.forward import CausalModel
    from selfplay.dialogue.language.model import LanguageModel
    from selfplay.learner.token_batch import Packed, PackedRows

NAME: Final = "selfplay"  # name of this attention in transformers
_LENGTHS: Final = (7, 4)  # of two conversations, which are read in two parts, and one more token
_FIRST_PART: Final = 3
_WINDOW: Final = 3  # less than the lengths


def attend(
    module: torch.nn.Module,
    query: Tensor,  # [R, H, N, D]
    key: Tensor,  # [R, K, L, D]
    value: Tensor,
    attention_mask: Tensor | None,  # [R, 1, N, L] True: visible; None: causal
    scaling: float | None = None,
    softcap: float | None = None,  # bound of the scores
    s_aux: Tensor | None = None,  # [H] attention sinks
    packed: PackedMasks
    | None = None,  # rows are in one sequence, R is 1; the mask is one of ``CausalModel._packed_kinds``
    **_: object,
) -> tuple[Tensor, None]:
    """Attention of a layer. For a single new token, keys shared by heads are not repeated."""
    if packed is not None:
        found = []
        for rows_of, seen, near in packed.parts:
            asked = _rows(query, rows_of.queries)
            keys, values = (_rows(part, rows_of.keys) for part in (key, value))
            mask = near if attention_mask is not None and attention_mask.numel() > 1 else seen
            found.append(attend(module, asked, keys, values, mask, scaling, softcap, s_aux)[0].flatten(0, 1))
        out = torch.cat(found) if len(found) > 1 else found[0]
        return embedding(packed.place, out.flatten(1)).view(-1, *out.shape[1:])[None], None
    rows, heads, new, _width = query.shape
    shared = key.shape[1]
    grouped = attention_mask is not None and new == 1 and heads != shared and softcap is None and s_aux is None
    if grouped:
        query = query.view(rows, shared, heads // shared, query.shape[-1])
    elif heads != shared:
        key, value = (part.repeat_interleave(heads // shared, 1) for part in (key, value))
    if softcap is None and s_aux is None:
        causal = attention_mask is None and new > 1
        out = _fused(query, key, value, attention_mask, causal, scaling)
    else:
        out = _unfused(query, key, value, attention_mask, scaling, softcap, s_aux)
    if grouped:
        return out.reshape(rows, 1, heads, value.shape[-1]), None
    return out.transpose(1, 2).contiguous(), None


def _rows(part: Tensor, rows: Tensor) -> Tensor:
    """[B, H, T, D] of packed tokens [1, H, M, D]. The gradient of ``embedding`` is faster than that of an index."""
    tokens = part[0].transpose(0, 1)
    taken: Tensor = embedding(rows, tokens.flatten(1)).view(*rows.shape, *tokens.shape[1:])
    return taken.transpose(1, 2)


@dataclass(frozen=True, slots=True)
class PackedMasks:
    """What attention needs to know of packed rows."""

    parts: tuple[tuple[PackedRows, Tensor | None, Tensor | None], ...]  # with masks [B, 1, S, T], of a window at last
    place: Tensor  # see ``Packed``


def packed_masks(packed: Packed, window: int | None) -> PackedMasks:
    parts = []
    for rows in packed.rows:
        columns = torch.arange(rows.keys.shape[1], device=rows.keys.device)
        at = columns[None] if rows.at is None else rows.at
        seen = (columns <= at[..., None])[:, None]
        near = None if window is None else seen & (columns > at[..., None] - window)[:, None]
        parts.append((rows, None if rows.at is None else seen, near))
    return PackedMasks(tuple(parts), packed.place)


def _fused(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scaling: float | None
) -> Tensor:
    if query.is_meta and query.shape[-1] == value.shape[-1]:  # where torch would not choose a fused kernel
        mask = None if mask is None else mask.to(query.dtype)
        kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        out: Tensor = kernel(query, key, value, 0.0, causal, attn_mask=mask, scale=scaling)[0]
        return out
    return scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal, scale=scaling)


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


@dataclass(frozen=True, slots=True)
class CacheShape:
    """Keys or values of a layer, per token."""

    heads: int
    width: int
    dtype: torch.dtype


class _ShapeRecorder(Cache):
    """Records the shapes of keys and values."""

    def __init__(self) -> None:
        super().__init__(layers=[])
        self.shapes: dict[int, tuple[CacheShape, CacheShape]] = {}

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        made = [CacheShape(part.shape[1], part.shape[3], part.dtype) for part in (key_states, value_states)]
        self.shapes[layer_idx] = (made[0], made[1])
        return key_states, value_states

    def get_seq_length(self, layer_idx: int = 0, *_: object, **__: object) -> int:
        return 0


@torch.no_grad()
def check_cache(model: LanguageModel) -> tuple[CacheShape, ...]:
    """Shapes of keys and values of each layer in turn; ConfigError for a model that cannot use a ``ColumnCache``."""
    what = f"models of the type {model.config.model_type} cannot be played here"
    parts = cache_shapes(model)
    rows = [
        [7 * place % min(model.vocabulary, 97) + number for place in range(length + 1)]
        for number, length in enumerate(_LENGTHS)
    ]
    window = getattr(model.config, "sliding_window", None)
    try:
        if window:
            model.config.sliding_window = _WINDOW  # masks are made from it; so a few tokens check them
        answers = _with_cache(model, parts, rows)
        wanted = _without_cache(model, rows)
    except Exception as error:  # of the model's own code
        raise ConfigError(f"{what}: they do not work with a cache of keys and values ({_line(error)})") from error
    finally:
        if window:
            model.config.sliding_window = window
    bound = 1e-3 if answers.dtype == torch.float32 and not model.bf16 else 0.1
    if not torch.allclose(answers.float(), wanted.float(), bound, bound * float(wanted.float().abs().max())):
        raise ConfigError(f"{what}: they attend in a way of their own, or keep more than keys and values")
    return parts


@torch.no_grad()
def cache_shapes(model: LanguageModel | CausalModel) -> tuple[CacheShape, ...]:
    """Shapes of keys and values of each layer in turn; ConfigError if not every layer keeps them."""
    cache = _ShapeRecorder()
    ids = torch.tensor([[1, 2]], device=model.device)
    at = torch.arange(2, device=model.device)[None]
    seen = (at[:, None, :] <= at[:, :, None])[:, None]
    what = f"models of the type {model.config.model_type} cannot be played here"
    try:
        with model.autocast():
            model.module(
                input_ids=ids, attention_mask=seen, position_ids=at, past_key_values=cache, use_cache=True,
                logits_to_keep=1,
            )  # fmt: skip
    except Exception as error:  # of the model's own code
        raise ConfigError(f"{what}: they do not work with a cache of keys and values ({_line(error)})") from error
    if sorted(cache.shapes) != list(range(len(cache.shapes))) or not cache.shapes:
        raise ConfigError(f"{what}: not every layer keeps keys and values")
    return tuple(part for layer in sorted(cache.shapes) for part in cache.shapes[layer])


def _with_cache(model: LanguageModel, parts: tuple[CacheShape, ...], rows: list[list[int]]) -> Tensor:
    """[3 R, V] logits after two parts of each row, of uneven lengths, and after one more token."""
    columns = max(_LENGTHS) + 2
    cache = ColumnCache([_zeros(part, len(rows), columns, model.device) for part in parts])
    places = ([0] * len(rows), [_FIRST_PART] * len(rows), list(_LENGTHS), [length + 1 for length in _LENGTHS])
    answers = []
    for firsts, ends in pairwise(places):
        pieces = [row[first:end] for row, first, end in zip(rows, firsts, ends, strict=True)]
        ids, at = pad_left(pieces, firsts, columns - 1)
        answers.append(model.next_logits(cache, ids.to(model.device), at.to(model.device), max(ends)))
    return torch.cat(answers)


def _without_cache(model: LanguageModel, rows: list[list[int]]) -> Tensor:
    """The same without a cache, row by row, with the eager attention of the model."""
    module = model.module
    answers: list[list[Tensor]] = [[], [], []]
    module.set_attn_implementation("eager")
    try:
        with model.autocast():
            for row, length in zip(rows, _LENGTHS, strict=True):
                logits = module(input_ids=torch.tensor([row], device=model.device), use_cache=False).logits[0]
                for place, found in zip((_FIRST_PART - 1, length - 1, length), answers, strict=True):
                    found.append(logits[place])
    finally:
        module.set_attn_implementation(NAME)
    return torch.stack([answer for found in answers for answer in found])


def empty_cache(model: LanguageModel, rows: int, columns: int) -> list[Tensor]:
    """Keys and values of each layer for a number of conversations: [rows, columns, K, D] each."""
    return [_zeros(part, rows, columns, model.device) for part in model.parts]


def _zeros(part: CacheShape, rows: int, columns: int, device: torch.device) -> Tensor:
    return torch.zeros(rows, columns, part.heads, part.width, dtype=part.dtype, device=device)


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
