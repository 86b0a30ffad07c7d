"""The architecture of the embedded model: a small Llama with a tokenizer for the vocabulary of one game."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from selfplay.dialogue.language.attention import NAME
from selfplay.dialogue.language.model import LanguageModel

MARKS: Final = ("<|pad|>", "<|unknown|>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>")
PAD, UNKNOWN, USER, ASSISTANT, SYSTEM, END = MARKS
TEMPLATE: Final = (
    "{% for m in messages %}{{ '<|' + m.role + '|>' }}{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for part in m.content %}{{ part.text }}{% endfor %}{% endif %}"  # the form of servers
    "{% if m.role == 'assistant' %}<|end|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@dataclass(frozen=True, slots=True)
class TinySpec:
    """Structure of the embedded model."""

    width: int = 128
    layers: int = 4
    heads: int = 8
    shared: int = 1  # number of key-value heads
    inner: int = 256
    context: int = 512
    spread: float = 0.08  # standard deviation of initial weights; the common 0.02 does not learn at this size


def make_tokenizer(pieces: Sequence[str], context: int) -> PreTrainedTokenizerFast:
    """A tokenizer with one token per piece; other characters are unknown."""
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
    tokenizer = make_tokenizer(pieces, spec.context)
    config = tiny_config(spec, tokenizer)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        make: Any = LlamaForCausalLM
        module = make(config)
    module.set_attn_implementation(NAME)
    return LanguageModel(module.eval(), tokenizer)


def tiny_config(spec: TinySpec, tokenizer: PreTrainedTokenizerFast) -> LlamaConfig:
    """The configuration of its transformer."""
    return LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=spec.width, intermediate_size=spec.inner,
        num_hidden_layers=spec.layers, num_attention_heads=spec.heads, num_key_value_heads=spec.shared,
        max_position_embeddings=spec.context, tie_word_embeddings=True, initializer_range=spec.spread,
        pad_token_id=0, bos_token_id=None, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
