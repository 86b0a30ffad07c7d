"""Small models of real architectures, with tokenizers and chat templates of the kinds that real models have.

Their weights are random, at most a million; ``taught`` ones have read games of Kuhn poker for some seconds.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

import torch
import transformers as hf
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from selfplay.dialogue.embedded import taught_games
from selfplay.dialogue.find import find_dialogue
from selfplay.dialogue.language.loading import load_model
from selfplay.dialogue.language.model import LanguageModel
from selfplay.dialogue.recipe import Recipe
from selfplay.dialogue.settings import StartConfig
from selfplay.dialogue.supervised import SupervisedLearner

CHATML: Final = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# Qwen3 shows earlier replies without their thoughts.
DROPS: Final = CHATML.replace(
    "m.content +", "(m.content if m.role != 'assistant' or loop.last else m.content.split('</think>')[-1]) +"
)
NO_SYSTEM: Final = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHATML
OWN: Final = (
    "{% for m in messages %}{% if m.role == 'assistant' %}{{ ' ' + m.content | trim + '<|im_end|>' }}"
    "{% else %}{{ '[INST] ' + m.content | trim + ' [/INST]' }}{% endif %}{% endfor %}"
)
SIZES: Final = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 2048, "tie_word_embeddings": True,
}  # fmt: skip
FAMILIES: Final[dict[str, tuple[Any, str, tuple[str, ...]]]] = {
    "qwen2": (hf.Qwen2Config, CHATML, ()),
    "qwen3": (hf.Qwen3Config, DROPS, ("--rows", "turn")),
    "llama": (hf.LlamaConfig, CHATML, ()),
    "gemma3": (hf.Gemma3TextConfig, NO_SYSTEM, ()),  # with layers that see 64 tokens
    "no_system_role": (hf.MistralConfig, NO_SYSTEM, ()),
    "no_pad_token": (hf.LlamaConfig, CHATML, ()),
    "own_template": (hf.MistralConfig, OWN, ("--rows", "turn")),  # puts a space before a reply, as Mistral's does
}
"""By name: class of the configuration, chat template, and flags that the template needs."""
LARGEST: Final = 1_000_000
ROWS: Final = 32
VOCABULARY: Final = 1500


def untaught(name: str, game: str, folder: Path, widths: dict[str, int] | None = None) -> LanguageModel:
    """A random model in a folder of Hugging Face, as any that is given to ``--model``; ``widths`` make it larger."""
    kind, template, flags = FAMILIES[name]
    words = _tokenizer(game, template, pad=name != "no_pad_token")
    ids = {"eos_token_id": words.eos_token_id, "pad_token_id": words.pad_token_id, "bos_token_id": None}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = kind(
            **{**SIZES, **(widths or {})},
            vocab_size=len(words),
            **ids,
            **({"sliding_window": 64} if name == "gemma3" else {}),
        )
        module = hf.AutoModelForCausalLM.from_config(config)
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.data.normal_(0, 0.08)
    assert widths or sum(parameter.numel() for parameter in module.parameters()) <= LARGEST
    module.save_pretrained(folder)
    words.save_pretrained(folder)
    return load_model(str(folder), rows="turn" if "turn" in flags else "conversation")


def hybrid(game: str, folder: Path) -> Path:
    """A folder of a random model that keeps more than keys and values: LFM2, of convolutions and attention."""
    words = _tokenizer(game, CHATML, pad=True)
    kinds = ["conv", "full_attention"]
    config = hf.Lfm2Config(
        **SIZES, layer_types=kinds, block_multiple_of=8, vocab_size=len(words), eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id, bos_token_id=None,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        hf.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def taught(name: str, folder: Path, steps: int = 60) -> LanguageModel:
    """A model that plays legal moves of Kuhn poker nearly always."""
    model = untaught(name, "kuhn_text", folder)
    entry = find_dialogue("kuhn_text")
    recipe = Recipe("kuhn_text", entry.configure(False, {}), StartConfig(), 0)
    rows = taught_games(entry, recipe, model.chat, range(256))
    learner = SupervisedLearner(model, 5e-3, threads=1)
    for step in range(steps):
        first = step * ROWS % (len(rows) - ROWS)
        learner.step(rows[first : first + ROWS], step / steps)
    learner.close()
    model.module.save_pretrained(folder)
    return model


@cache
def _texts(game: str) -> list[str]:
    """What the seats of some games read and write."""
    entry = find_dialogue(game)
    rules = entry.configure(False, {})
    found = []
    for state in entry.states(rules, range(64)):
        made = entry.start(rules, state)
        players = [entry.players[entry.teacher](rules, seed) for seed in range(2)]
        found += [made.system(seat) for seat in range(2)]
        while made.outcome is None:
            found.append(made.observe(made.mover))
            found.append(players[made.mover].reply(found[-1]))
            made.act(found[-1])
    return found


def _tokenizer(game: str, template: str, *, pad: bool) -> hf.PreTrainedTokenizerFast:
    """Pairs of bytes, as Qwen and Llama have, learned on the texts of a game."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        _texts(game), trainers.BpeTrainer(vocab_size=VOCABULARY, initial_alphabet=alphabet, show_progress=False)
    )
    marks = ("<|im_start|>", "<|im_end|>", *(("<|pad|>",) if pad else ()))
    made.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|pad|>" if pad else None, chat_template=template,
        clean_up_tokenization_spaces=False,
    )  # fmt: skip
