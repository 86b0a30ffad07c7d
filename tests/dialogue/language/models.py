"""Small random language models of several architectures, and conversations with them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from selfplay.dialogue.language.attention import NAME
from selfplay.dialogue.language.conversation import Conversation, Reply, Writer
from selfplay.dialogue.language.model import LanguageModel
from selfplay.dialogue.language.tiny import END, TinySpec, make_tiny, make_tokenizer
from selfplay.learner.sampling import Sampling, log_distribution

WORDS = ("Paper", "Ann", "Bob", "likes", "[message]", "[accept]", "4", "7", ",", ".", " ", "\n", "and", "so")
SPEC = TinySpec(width=32, layers=2, heads=4, shared=1, inner=48, context=160, spread=0.3)


def tiny(seed: int = 0, **changes: int) -> LanguageModel:
    spec = {name: changes.get(name, getattr(SPEC, name)) for name in SPEC.__slots__}
    return make_tiny(TinySpec(**spec), WORDS, seed)


def tokenizer(context: int = 160) -> PreTrainedTokenizerFast:
    return make_tokenizer(WORDS, context)


def of_config(config: Any, seed: int = 0, **options: Any) -> LanguageModel:
    """A random model of any architecture, with the embedded model's tokenizer."""
    words = tokenizer()
    config.vocab_size = len(words)
    config.eos_token_id = int(words.convert_tokens_to_ids(END))
    config.pad_token_id, config.bos_token_id = 0, None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = AutoModelForCausalLM.from_config(config, attn_implementation=NAME)
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.data.normal_(0, 0.2)
    return LanguageModel(module.eval(), words, **options)


def texts(count: int, seed: int, longest: int = 12) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(WORDS, int(rng.integers(1, longest)))) for _ in range(count)]


def converse(
    writer: Writer, count: int = 12, turns: int = 3, seed: int = 0, alike: int = 4
) -> tuple[list[Conversation], list[list[Reply]]]:
    """Conversations of several turns; ``alike`` of them begin with the same words. Not all take part in every turn."""
    openings = texts(-(-count // alike), seed, 30)
    made = [writer.open(seed * 1000 + i, "Ann likes Paper.", openings[i // alike]) for i in range(count)]
    replies: list[list[Reply]] = [[] for _ in made]
    for turn in range(turns):
        taking = [i for i in range(count) if (i + turn) % 3 or turn == 0]
        if turn:
            writer.go_on([made[i] for i in taking], texts(len(taking), seed + turn))
        for i, reply in zip(taking, writer.reply([made[i] for i in taking]), strict=True):
            replies[i].append(reply)
    return made, replies


def recomputed(model: LanguageModel, conversation: Conversation, sampling: Sampling) -> np.ndarray:
    """Log-probabilities of the sampled tokens, by one forward without a cache."""
    ids = torch.tensor([conversation.ids])
    where = torch.tensor([conversation.sampled])
    with torch.no_grad():
        every = log_distribution(model.logits(ids, where), sampling)
    return every.gather(-1, ids[where][:, None])[:, 0].numpy()


def sampled(values: Sequence[float], marks: Sequence[bool]) -> np.ndarray:
    return np.array(values)[np.array(marks)]
