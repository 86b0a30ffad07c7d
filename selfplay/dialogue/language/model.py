"""A causal language model with its chat template, for decoding, training and as a KL reference.

Letters in shapes: B rows, T tokens of the longest, N marked places, R rows of a cache, V tokens of the vocabulary.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, final

import torch
from torch import Tensor, nn

from selfplay.dialogue.language.attention import CacheShape, check_cache
from selfplay.dialogue.language.chat import Chat, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from peft import PeftModel
    from transformers import PreTrainedTokenizerFast

    from selfplay.dialogue.language.attention import ColumnCache

# of heads that do more than a linear layer
_OF_LOGITS: Final = ("final_logit_softcapping", "logits_scaling", "logit_scale")
SLIDING: Final = "sliding_attention"  # kind of a layer that sees only the last ``sliding_window`` tokens


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
        self.module: Any = module
        config: Any = module.config
        self.adapter: Any = adapter
        self.bf16 = bf16
        self.config: Any = config.get_text_config()
        self.context = _context(self.config)
        self.vocabulary = int(self.config.vocab_size)
        self.chat = Chat(tokenizer, _ends(self.module, tokenizer), rows)
        self._plain = _has_decoder(module) and not any(getattr(self.config, name, None) for name in _OF_LOGITS)
        if plays:
            _ = self.parts  # checks it

    @cached_property
    def parts(self) -> tuple[CacheShape, ...]:
        """Shapes of keys and values; ConfigError for a model that cannot write replies here."""
        return check_cache(self)

    @property
    def device(self) -> torch.device:
        parameter: Tensor = next(iter(self.module.parameters()))
        return parameter.device

    def autocast(self) -> AbstractContextManager[None]:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16)

    def logits(self, ids: Tensor, where: Tensor) -> Tensor:
        """[N, V] logits that predict the tokens at the N places marked in ``where`` [B, T], in the order of the rows.

        Conversations ``ids`` [B, T] are padded at their ends. The first token of a row is never marked.
        """
        before = where[:, 1:]
        with self.autocast():
            if not self._plain:
                logits: Tensor = self.module(input_ids=ids, use_cache=False).logits
                return logits[:, :-1][before]
            hidden = self.module.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state
            marked: Tensor = self.module.get_output_embeddings()(hidden[:, :-1][before])
            return marked

    def next_logits(self, cache: ColumnCache, ids: Tensor, at: Tensor, width: int) -> Tensor:
        """[R, V] logits after the last of the tokens [R, N] at columns ``at`` [R, N]; ``width`` columns are in use."""
        cache.place(at, width)
        with self.autocast():
            out = self.module(
                input_ids=ids, attention_mask=self._masks(at, width), position_ids=at.clamp(max=self.context - 1),
                past_key_values=cache, use_cache=True, logits_to_keep=1,
            )  # fmt: skip
        last: Tensor = out.logits[:, -1]
        return last

    def _masks(self, at: Tensor, width: int) -> Tensor | dict[str, Tensor]:
        """[R, 1, N, L] columns that the tokens see, by kind of layer if only some have a window."""
        columns, places = torch.arange(width, device=at.device), at[:, None, :, None]
        seen = columns <= places
        kinds = getattr(self.config, "layer_types", None) or [SLIDING]
        window = getattr(self.config, "sliding_window", None)
        if not window or SLIDING not in kinds:
            return seen
        near = seen & (columns > places.clamp(max=width - 1) - window)  # padding too sees a column, or would be NaN
        return {**dict.fromkeys(kinds, seen), SLIDING: near} if set(kinds) != {SLIDING} else near

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
    """A model with a copy of its current trainable parameters, or of the adapter in the folder ``first``.

    Training of the model does not change the copy. It is swapped in while the reference is scored; no other thread may
    use the model meanwhile.
    """

    def __init__(self, model: LanguageModel, first: Path | None = None) -> None:
        self._model = model
        self._lock = Lock()
        self._users = 0
        self._trained = [parameter for parameter in model.module.parameters() if parameter.requires_grad]
        self._others = [parameter.detach().clone() for parameter in self._trained]
        if first is not None:
            with self._swapped():
                model.adapter.load_adapter(first, model.adapter.active_adapter, is_trainable=True, torch_device="cpu")

    @property
    def module(self) -> nn.Module:
        module: nn.Module = self._model.module
        return module

    def logits(self, ids: Tensor, where: Tensor) -> Tensor:
        """See ``LanguageModel``; without gradients, from any number of threads."""
        with self._swapped(), torch.no_grad():
            return self._model.logits(ids, where)

    @contextmanager
    def _swapped(self) -> Iterator[None]:
        """The first thread swaps the parameters in, the last one swaps them out."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._swap()
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._swap()

    def _swap(self) -> None:
        for i, parameter in enumerate(self._trained):
            parameter.data, self._others[i] = self._others[i], parameter.data


def _has_decoder(module: Any) -> bool:  # noqa: ANN401
    """Return False for models, such as Llama 4, that give themselves as their decoder."""
    return module.get_decoder() is not module


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
