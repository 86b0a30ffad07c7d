"""A causal language model with its chat template, for decoding, training and as a KL reference.

Letters in shapes: B rows, T tokens of the longest, N marked places, R rows of a cache, V tokens of the vocabulary.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import torch
from torch import Tensor, nn

from selfplay.dialogue.language.attention import CacheShape, check_cache
from selfplay.dialogue.language.chat import Chat, Rows
from selfplay.dialogue.language.forward import CausalModel
from selfplay.dialogue.language.llama import LlamaForward
from selfplay.learner.sharding import is_sharded, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from peft import PeftModel
    from transformers import PreTrainedTokenizerFast

    from selfplay.dialogue.language.attention import ColumnCache
    from selfplay.learner.token_batch import TokenBatch


@final
class LanguageModel:
    """A model, its chat template and the length of its context.

    Args:
        module: causal model of transformers with the attention ``attention.NAME``.
        rows: see ``Chat``.
        adapter: PEFT wrapper of the module, if only an adapter is trained.
        bf16: run forward passes in bfloat16.
        plays: it writes replies here; False: it only scores them, which needs no cache of keys and values.

    Raises:
        ConfigError: the model is not supported.
    """

    def __init__(
        self,
        module: nn.Module,
        tokenizer: PreTrainedTokenizerFast,
        rows: Rows = "conversation",
        adapter: PeftModel | None = None,
        *,
        bf16: bool = False,
        plays: bool = True,
    ) -> None:
        self.causal = CausalModel(module, bf16=bf16)
        self.module: Any = module
        self.adapter: Any = adapter
        self.bf16 = bf16
        self.config: Any = self.causal.config
        self.context = _context(self.config)
        self.vocabulary = self.causal.vocabulary
        self.chat = Chat(tokenizer, _ends(self.module, tokenizer), rows)
        plain = plays and adapter is None and not bf16 and LlamaForward.fits(module)
        self._plain = LlamaForward(module) if plain else None
        if plays:
            _ = self.parts  # checks it

    @cached_property
    def parts(self) -> tuple[CacheShape, ...]:
        """Shapes of keys and values; ConfigError for a model that cannot write replies here."""
        return check_cache(self)

    @property
    def device(self) -> torch.device:
        return self.causal.device

    @property
    def head(self) -> nn.Module:
        return self.causal.head

    def autocast(self) -> AbstractContextManager[None]:
        return self.causal.autocast()

    def hidden(self, tokens: TokenBatch) -> Tensor:
        return self.causal.hidden(tokens)

    def logits(self, ids: Tensor, where: Tensor) -> Tensor:
        return self.causal.logits(ids, where)

    def next_logits(self, cache: ColumnCache, ids: Tensor, at: Tensor, width: int) -> Tensor:
        """[R, V] logits after the last of the tokens [R, N] at columns ``at`` [R, N]; ``width`` columns are in use."""
        cache.place(at, width)
        seen, places = self.causal.masks(at, width), at.clamp(max=self.context - 1)
        if self._plain is not None and isinstance(seen, Tensor):
            return self._plain(cache, ids, places, seen)
        with self.autocast():
            out = self.module(
                input_ids=ids, attention_mask=seen, position_ids=places,
                past_key_values=cache, use_cache=True, logits_to_keep=1,
            )  # fmt: skip
        last: Tensor = out.logits[:, -1]
        return last

    def save(self, folder: Path) -> None:
        """Save as a Hugging Face folder: the whole model, or only its adapter."""
        if self.adapter is None:
            self.module.save_pretrained(folder)
        else:
            self.adapter.save_pretrained(folder, save_embedding_layers=False)
        self.chat.tokenizer.save_pretrained(folder)

    def save_for_server(self, folder: Path) -> None:
        """Save what a server needs: the whole model, or the adapter alone, without a tokenizer."""
        if self.adapter is None:
            self.save(folder)
        else:
            self.adapter.save_pretrained(folder, save_embedding_layers=False)


@final
class FrozenReference:
    """A model as it is now, or as it was with the parameters ``first``, whatever is trained later.

    Kept is only what may differ from the model: nothing for a new adapter, which is switched off, the parameters of
    another adapter, or those of a whole model, which are bfloat16 except on the CPU or if they are sharded.
    """

    def __init__(self, model: LanguageModel, first: Mapping[str, Tensor] | None = None) -> None:
        """``first`` has the trainable parameters by name."""
        self._model = model
        trained = {name: each for name, each in model.module.named_parameters() if each.requires_grad}
        self._off = model.adapter is not None and not any(map(_adapts, *zip(*(first or trained).items(), strict=True)))
        self._trained = [] if self._off else list(trained.values())
        self._sharded = any(map(is_sharded, self._trained))
        light = model.adapter is None and model.device.type != "cpu" and not self._sharded
        dtype = torch.bfloat16 if light else None
        self._others = [
            (first or trained)[name].detach().to(each.device, dtype, copy=first is None)
            for name, each in trained.items()
            if not self._off
        ]

    @contextmanager
    def active(self) -> Iterator[LanguageModel]:
        """The model with these parameters; no other thread may use it meanwhile, and nothing may be trained."""
        off = self._model.adapter.disable_adapter() if self._off else nullcontext()
        with torch.no_grad(), off:
            self._swap()
            try:
                yield self._model
            finally:
                self._swap()

    def _swap(self) -> None:
        for i, parameter in enumerate(self._trained):
            if self._sharded:  # FSDP2 gathers layers from the memory that the parameters have now
                now = parameter.detach().clone()
                parameter.detach().copy_(self._others[i])
                self._others[i] = now
            else:
                parameter.data, self._others[i] = self._others[i], parameter.data


def _adapts(name: str, parameter: Tensor) -> bool:
    """Whether a trainable parameter of an adapter makes it differ from the model below: not if its B is 0."""
    return (".lora_B." in name and bool(whole(parameter).any())) or ".lora_" not in name or ".lora_embedding_" in name


def adapter_of(model: LanguageModel, folder: Path) -> dict[str, Tensor]:
    """The trainable parameters by name that the adapter in a folder has."""
    trained = {name: each for name, each in model.module.named_parameters() if each.requires_grad}
    now = [each.detach().clone() for each in trained.values()]
    model.adapter.load_adapter(folder, model.adapter.active_adapter, is_trainable=True, torch_device="cpu")
    found = {name: each.detach().clone() for name, each in trained.items()}
    for parameter, value in zip(trained.values(), now, strict=True):
        parameter.data.copy_(value)
    return found


def _context(config: Any) -> int:  # noqa: ANN401
    """Maximum number of tokens of a conversation. Chunks of attention bound it; sliding windows do not."""
    kinds = getattr(config, "layer_types", None)
    chunk = getattr(config, "attention_chunk_size", None) if kinds is None or "chunked_attention" in kinds else None
    return min(int(limit) for limit in (getattr(config, "max_position_embeddings", None), chunk, 2**31) if limit)


def _ends(module: Any, tokenizer: PreTrainedTokenizerFast) -> frozenset[int]:  # noqa: ANN401
    generation: Any = getattr(module, "generation_config", None)
    ends = getattr(generation, "eos_token_id", None)
    found = [*(ends if isinstance(ends, list) else [ends]), tokenizer.eos_token_id]
    return frozenset(int(i) for i in found if i is not None)
