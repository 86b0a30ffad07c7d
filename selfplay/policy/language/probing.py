"""Whether a model can be played with a cache of columns, found by trying: what it keeps, and that it keeps it right.

Nothing is known here of architectures: a model that answers the same from the cache as without it can be played, and
one that keeps anything else than keys and values, or has an attention of its own, cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from selfplay.errors import ConfigError
from selfplay.policy.language.attention import NAME, Columns, lay_out

if TYPE_CHECKING:
    from selfplay.policy.language.model import LanguageModel

_LENGTHS: Final = (7, 4)  # of two conversations, which are read in two parts and go on by a token
_READ: Final = 3


@dataclass(frozen=True, slots=True)
class Part:
    """Keys, or values, that a layer keeps of each token."""

    heads: int
    width: int
    dtype: torch.dtype


class _Listener(Cache):
    """Hears what is to be kept, and keeps nothing."""

    def __init__(self) -> None:
        super().__init__(layers=[])
        self.heard: dict[int, tuple[Part, Part]] = {}

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        made = [Part(part.shape[1], part.shape[3], part.dtype) for part in (key_states, value_states)]
        self.heard[layer_idx] = (made[0], made[1])
        return key_states, value_states

    def get_seq_length(self, layer_idx: int = 0, *_: object, **__: object) -> int:
        return 0


@torch.no_grad()
def probe(model: LanguageModel) -> tuple[Part, ...]:
    """Keys and values that the layers keep, in turn.

    Raises:
        ConfigError: the model cannot be played with a cache of columns; why.
    """
    what = f"models of the type {model.config.model_type} cannot be played here"
    rows = [
        [7 * place % min(model.vocabulary, 97) + number for place in range(length + 1)]
        for number, length in enumerate(_LENGTHS)
    ]
    try:
        parts = _kept(model, rows[0])
        answers = _from_columns(model, parts, rows)
        wanted = _plainly(model, rows)
    except Exception as error:  # their code, asked for what it may never have been asked
        raise ConfigError(f"{what}: they do not work with a cache of keys and values ({_line(error)})") from error
    bound = 1e-3 if answers.dtype == torch.float32 and not model.bf16 else 0.1
    if not torch.allclose(answers.float(), wanted.float(), bound, bound * float(wanted.float().abs().max())):
        raise ConfigError(f"{what}: they attend in a way of their own, or keep more than keys and values")
    return parts


def _kept(model: LanguageModel, row: list[int]) -> tuple[Part, ...]:
    cache = _Listener()
    ids = torch.tensor([row], device=model.device)
    at = torch.arange(len(row), device=model.device)[None]
    seen = (at[:, None, :] <= at[:, :, None])[:, None]
    with model.autocast():
        model.module(
            input_ids=ids, attention_mask=seen, position_ids=at, past_key_values=cache, use_cache=True, logits_to_keep=1
        )
    if sorted(cache.heard) != list(range(len(cache.heard))) or not cache.heard:
        raise ValueError("not every layer keeps keys and values")
    return tuple(part for layer in sorted(cache.heard) for part in cache.heard[layer])


def _from_columns(model: LanguageModel, parts: tuple[Part, ...], rows: list[list[int]]) -> Tensor:
    """[3 R, V] logits after two parts of each row, of uneven lengths, and after one more token."""
    columns = max(_LENGTHS) + 2
    cache = Columns(empty(parts, len(rows), columns, model.device))
    places = ([0] * len(rows), [_READ] * len(rows), list(_LENGTHS), [length + 1 for length in _LENGTHS])
    answers = []
    for firsts, ends in pairwise(places):
        pieces = [row[first:end] for row, first, end in zip(rows, firsts, ends, strict=True)]
        ids, at = lay_out(pieces, firsts, columns - 1)
        answers.append(model.answer(cache, ids.to(model.device), at.to(model.device), max(ends)))
    return torch.cat(answers)


def _plainly(model: LanguageModel, rows: list[list[int]]) -> Tensor:
    """The same without any cache, each row by itself, with the attention that came with the model."""
    module = model.module
    answers: list[list[Tensor]] = [[], [], []]
    module.set_attn_implementation("eager")
    try:
        with model.autocast():
            for row, length in zip(rows, _LENGTHS, strict=True):
                logits = module(input_ids=torch.tensor([row], device=model.device), use_cache=False).logits[0]
                for place, found in zip((_READ - 1, length - 1, length), answers, strict=True):
                    found.append(logits[place])
    finally:
        module.set_attn_implementation(NAME)
    return torch.stack([answer for found in answers for answer in found])


def empty(parts: tuple[Part, ...], rows: int, columns: int, device: torch.device) -> list[Tensor]:
    """Room for keys and values of so many conversations: [rows, columns, K, D] for each part."""
    return [torch.zeros(rows, columns, part.heads, part.width, dtype=part.dtype, device=device) for part in parts]


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
