"""The embedded model: a small transformer with a tokenizer over a game's language, made here.

Its folder is that of any Llama model, so that other programs can load it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from selfplay.policy.language.attention import NAME
from selfplay.policy.language.model import LanguageModel

PAD, UNKNOWN, USER, ASSISTANT, SYSTEM, END = (
    "<|pad|>",
    "<|unknown|>",
    "<|user|>",
    "<|assistant|>",
    "<|system|>",
    "<|end|>",
)
MARKS: Final = (PAD, UNKNOWN, USER, ASSISTANT, SYSTEM, END)
TEMPLATE: Final = (
    "{% for m in messages %}{{ '<|' + m.role + '|>' }}{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for part in m.content %}{{ part.text }}{% endfor %}{% endif %}"  # as servers give it
    "{% if m.role == 'assistant' %}<|end|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@dataclass(frozen=True, slots=True)
class TinySpec:
    """Structure of the embedded model."""

    width: int = 128
    layers: int = 4
    heads: int = 8
    shared: int = 1  # heads of keys and values
    inner: int = 256
    context: int = 512
    spread: float = 0.08  # standard deviation of fresh weights; 0.02, common for large models, stands still here


def make_tokenizer(pieces: Sequence[str], context: int) -> PreTrainedTokenizerFast:
    """A tokenizer to which each of the pieces is one token; any other character is unknown to it."""
    vocabulary = {piece: i for i, piece in enumerate([*MARKS, *dict.fromkeys(pieces)])}
    longest_first = sorted(set(pieces), key=lambda piece: (-len(piece), piece))
    pattern = "|".join(re.escape(piece).replace("\\\n", "\\n") for piece in longest_first)
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in MARKS])
    wrapped: Any = PreTrainedTokenizerFast
    made: PreTrainedTokenizerFast = wrapped(
        tokenizer_object=tokenizer, pad_token=PAD, unk_token=UNKNOWN, eos_token=END, chat_template=TEMPLATE,
        model_max_length=context, clean_up_tokenization_spaces=False,
    )  # fmt: skip
    return made


def make_tiny(spec: TinySpec, pieces: Sequence[str], seed: int) -> LanguageModel:
    """A model that knows nothing yet."""
    tokenizer = make_tokenizer(pieces, spec.context)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=spec.width, intermediate_size=spec.inner,
        num_hidden_layers=spec.layers, num_attention_heads=spec.heads, num_key_value_heads=spec.shared,
        max_position_embeddings=spec.context, tie_word_embeddings=True, initializer_range=spec.spread,
        pad_token_id=0, bos_token_id=None, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        make: Any = LlamaForCausalLM
        module = make(config)
    module.set_attn_implementation(NAME)
    return LanguageModel(module.eval(), tokenizer)
