"""Bytes that a model and a step of its training take, found out without memory: on torch's device ``meta``.

The forward and backward pass of the learner run on tensors without data, and the storages that live at once are added
up.
"""

from __future__ import annotations

import weakref
from functools import cached_property
from typing import Any, Final, final

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import AutoConfig, AutoModelForCausalLM

from selfplay.dialogue.language.attention import NAME, cache_shapes
from selfplay.dialogue.language.folders import ADAPTER, rank_of
from selfplay.dialogue.language.forward import CausalModel, checkpoint_layers
from selfplay.dialogue.language.loading import Lora, base_of, find, lora_model
from selfplay.errors import ConfigError, boundary
from selfplay.learner.chunked import chunked_loss
from selfplay.learner.grpo_loss import GRPOSettings, micro_loss
from selfplay.learner.sampling import Sampling
from selfplay.learner.token_batch import TrainingRow, padded

_META: Final = torch.device("meta")


@final
class Footprint:
    """What a model takes.

    Args:
        config: of transformers.
        lora: adapter that is trained in place of the model.
        light: with an adapter, the other parameters are bfloat16.
        bf16: forward passes in bfloat16.

    Attributes:
        weights: bytes of all parameters and buffers.
        trained: number of parameters that are trained.
        vocabulary: number of tokens.
        whole: the model is trained itself, without an adapter.
    """

    def __init__(self, config: Any, lora: Lora | None, *, light: bool, bf16: bool) -> None:  # noqa: ANN401
        self._config, self._lora, self._light, self._bf16 = config, lora, light, bf16
        self._models: dict[bool, CausalModel] = {}
        self._steps: dict[tuple[bool, int, int, int, float], int] = {}
        model = self._model(checkpointing=False)
        parameters = list(model.module.parameters())
        self.weights = sum(each.numel() * each.element_size() for each in (*parameters, *model.module.buffers()))
        self.trained = sum(each.numel() for each in parameters if each.requires_grad)
        self.vocabulary = model.vocabulary
        self.whole = lora is None

    @cached_property
    def cache(self) -> int:
        """Bytes of keys and values of a token, of a model that writes replies here."""
        kept = cache_shapes(self._model(checkpointing=False))
        return sum(part.heads * part.width * (2 if self._bf16 else part.dtype.itemsize) for part in kept)

    def with_adapter(self, rank: int) -> Footprint:
        """That of the same model with an adapter that is trained instead."""
        return Footprint(self._config, Lora(rank, 2 * rank), light=self._light, bf16=self._bf16)

    def step(self, checkpointing: bool, rows: int, length: int, shared: int, share: float) -> int:
        """Bytes of the forward and backward pass of a micro-batch of rows of a length, with the gradients.

        All begin with the same ``shared`` tokens. ``share`` of the tokens train; ``checkpointing`` as in
        ``checkpoint_layers``.
        """
        key = checkpointing, rows, length, shared, share
        if key not in self._steps:
            self._steps[key] = self._measure(*key)
        return self._steps[key]

    def _measure(self, checkpointing: bool, rows: int, length: int, shared: int, share: float) -> int:
        model = self._model(checkpointing)
        if self._bf16:
            model.module.to(torch.bfloat16)  # the device has no autocast
        tokens = padded(_rows(rows, length, shared, share), [1.0] * rows, _META)

        def loss(logits: Tensor, part: slice) -> tuple[Tensor, Tensor]:
            return micro_loss(logits, tokens.targets[part], GRPOSettings(), Sampling())

        trained = [parameter for parameter in model.module.parameters() if parameter.requires_grad]
        peak = _Peak()
        with peak:
            total, _ = chunked_loss(model.hidden(tokens), model.head, loss, model.vocabulary)
            torch.autograd.grad(total, trained, allow_unused=True)
        # With autocast, gradients have 4 bytes in place of 2, and there are copies of the weights in bfloat16.
        return peak.most + (4 * self.trained if self._bf16 else 0)

    def _model(self, checkpointing: bool) -> CausalModel:
        if checkpointing not in self._models:
            opener: Any = AutoModelForCausalLM
            with _META:
                module = opener.from_config(self._config, attn_implementation=NAME, dtype=torch.float32)
                if self._light and self._lora is not None:
                    module.to(torch.bfloat16)
                if self._lora is not None:
                    lora_model(module, self._lora)
            if checkpointing:
                checkpoint_layers(module)
            self._models[checkpointing] = CausalModel(module.eval(), packs=True)
        return self._models[checkpointing]


def config_of(where: str) -> tuple[Any, Lora | None]:
    """The configuration of a model by name or folder; of an adapter that of its base, and its rank."""
    folder = find(where)
    adapted = (folder / ADAPTER).is_file()
    base = base_of(folder) if adapted else folder
    with boundary(ConfigError, f"model {where}"):
        config = AutoConfig.from_pretrained(base, local_files_only=True, trust_remote_code=False)
    return config, Lora(rank_of(folder), 1) if adapted else None


def _rows(count: int, length: int, shared: int, share: float) -> list[TrainingRow]:
    """Rows that begin with the same ``shared`` tokens, and are different after these."""
    sampled = np.zeros(length + 1, np.bool_)
    sampled[-max(1, round(length * share)) :] = True
    logprob = np.zeros(int(sampled.sum()), np.float32)
    own = np.arange(length + 1) >= shared
    return [TrainingRow(np.where(own, number + 1, 0), sampled, logprob, 1.0) for number in range(count)]


class _Peak(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the bytes of the tensors that operators return, as long as they live."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.most = 0
        self._now = 0
        self._alive: dict[int, object] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, Tensor):
                self._see(tensor.untyped_storage())
        return out

    def _see(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._alive:
            return

        def gone(_: object) -> None:
            self._alive.pop(key, None)
            self._now -= size

        self._alive[key] = weakref.ref(storage, gone)
        self._now += size
        self.most = max(self.most, self._now)
