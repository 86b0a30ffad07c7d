"""A causal language model with its chat, from a folder or by name; safetensors alone, never code of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from selfplay.errors import ConfigError
from selfplay.policy.language.attention import NAME
from selfplay.policy.language.chat import Chat

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

logging.disable_progress_bar()  # a run has a report of its own
_OF_LOGITS: Final = ("final_logit_softcapping", "logits_scaling", "logit_scale")  # what some heads do besides


@final
class LanguageModel:
    """A model, its chat, and how long a conversation may be."""

    def __init__(self, module: nn.Module, tokenizer: PreTrainedTokenizerFast) -> None:
        self.module = module
        self.config: Any = module.config
        self.context = int(self.config.max_position_embeddings)
        windows = [t for t in getattr(self.config, "layer_types", None) or () if t == "sliding_attention"]
        if windows and self.config.sliding_window:
            self.context = min(self.context, int(self.config.sliding_window))
        self.chat = Chat(tokenizer, _ends(module, tokenizer))
        self._plain = not any(getattr(self.config, name, None) for name in _OF_LOGITS)

    def logits(self, ids: Tensor, where: Tensor) -> Tensor:
        """[N, V] logits that predict the tokens at the N marked places, in the order of the rows.

        Args:
            ids: [B, T] conversations, padded at their ends.
            where: [B, T] the marked places; never the first of a row.
        """
        before = where[:, 1:]
        if not self._plain:
            return self.module(input_ids=ids, use_cache=False).logits[:, :-1][before]
        hidden = self.module.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state
        return self.module.get_output_embeddings()(hidden[:, :-1][before])

    def save(self, folder: Path) -> None:
        """As a folder that others can load, too."""
        self.module.save_pretrained(folder, safe_serialization=True)
        self.chat.tokenizer.save_pretrained(folder)


def load_model(where: str, device: str = "cpu", dtype: torch.dtype = torch.float32) -> LanguageModel:
    """A model by name or folder.

    Raises:
        ConfigError: there is none, it is not to be had, or it is not one that can play.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(where, trust_remote_code=False)
        config = AutoConfig.from_pretrained(where, trust_remote_code=False)
        config._attn_implementation = NAME
        module = AutoModelForCausalLM.from_pretrained(
            where, config=config, trust_remote_code=False, use_safetensors=True, dtype=dtype
        )
    except (OSError, ValueError, KeyError, ImportError, json.JSONDecodeError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"model {where}: cannot be loaded: {reason[:300]}") from error
    return LanguageModel(module.to(device).eval(), tokenizer)


def _ends(module: nn.Module, tokenizer: PreTrainedTokenizerFast) -> frozenset[int]:
    """Tokens that end a reply."""
    told: Any = getattr(module, "generation_config", None)
    ends = getattr(told, "eos_token_id", None)
    found = [*(ends if isinstance(ends, list) else [ends]), tokenizer.eos_token_id]
    return frozenset(int(i) for i in found if i is not None)
