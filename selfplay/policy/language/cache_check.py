"""Checks that a model gives the same logits with a ``ColumnCache`` as without, and finds the shapes of its cache.

No architecture is known here. Models that cache anything but keys and values, or have an attention of their own, fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from selfplay.errors import ConfigError
from selfplay.policy.language.attention import NAME, ColumnCache, pad_left

if TYPE_CHECKING:
    from selfplay.policy.language.model import LanguageModel

_LENGTHS: Final = (7, 4)  # of two conversations, which are read in two parts, and one more token
_FIRST_PART: Final = 3
_WINDOW: Final = 3  # less than the lengths


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
    """Shapes of keys and values of each layer in turn.

    Raises:
        ConfigError: the model does not work with a ``ColumnCache``.
    """
    what = f"models of the type {model.config.model_type} cannot be played here"
    rows = [
        [7 * place % min(model.vocabulary, 97) + number for place in range(length + 1)]
        for number, length in enumerate(_LENGTHS)
    ]
    window = getattr(model.config, "sliding_window", None)
    try:
        if window:
            model.config.sliding_window = _WINDOW  # masks are made from it; so a few tokens check them
        parts = _shapes(model, rows[0])
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


def _shapes(model: LanguageModel, row: list[int]) -> tuple[CacheShape, ...]:
    cache = _ShapeRecorder()
    ids = torch.tensor([row], device=model.device)
    at = torch.arange(len(row), device=model.device)[None]
    seen = (at[:, None, :] <= at[:, :, None])[:, None]
    with model.autocast():
        model.module(
            input_ids=ids, attention_mask=seen, position_ids=at, past_key_values=cache, use_cache=True, logits_to_keep=1
        )
    if sorted(cache.shapes) != list(range(len(cache.shapes))) or not cache.shapes:
        raise ValueError("not every layer keeps keys and values")
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
