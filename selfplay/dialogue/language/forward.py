"""Forward passes of a causal model that the learner makes.

The rows of a micro-batch are packed into one sequence: layers that treat each token alone compute no padding, and
tokens that several rows begin with once. Only attention sees rows (``attention.attend``). A model without support for
that gets padded rows.

Letters in shapes: B rows, T tokens of the longest, N tokens that train, H width of the hidden states, V tokens of the
vocabulary.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

from selfplay.dialogue.language.attention import packed_masks
from selfplay.learner.token_batch import TrainingRow, padded

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from selfplay.learner.token_batch import TokenBatch

# of heads that do more than a linear layer
_OF_LOGITS: Final = ("final_logit_softcapping", "logits_scaling", "logit_scale")
SLIDING: Final = "sliding_attention"  # kind of a layer that sees only the last ``sliding_window`` tokens
_WINDOW: Final = 3
_CHECKED: Final = ((1, 2, 3, 4, 5, 6), (1, 2, 3, 7, 8), (9, 1))  # rows, the first of which begin alike


@final
class CausalModel:
    """A causal model of transformers with the attention ``attention.NAME``.

    Attributes:
        head: gives logits [n, V] of the hidden states of some tokens.
        packs: whether the model takes packed rows.
    """

    def __init__(self, module: Any, *, bf16: bool = False, packs: bool | None = None) -> None:  # noqa: ANN401
        """``packs`` is found out if it is not given."""
        self.module = module
        self.config: Any = self.module.config.get_text_config()
        self.bf16 = bf16
        self.vocabulary = int(self.config.vocab_size)
        self._plain = _has_decoder(module) and not any(getattr(self.config, name, None) for name in _OF_LOGITS)
        self.head: nn.Module = self.module.get_output_embeddings() if self._plain else nn.Identity()
        self.packs = self._can_pack() if packs is None else packs

    @property
    def device(self) -> torch.device:
        parameter: Tensor = next(iter(self.module.parameters()))
        return parameter.device

    def autocast(self) -> AbstractContextManager[None]:
        return torch.autocast(self.device.type, torch.bfloat16) if self.bf16 else nullcontext()

    def hidden(self, tokens: TokenBatch) -> Tensor:
        """[N, H] input of the head for each token that trains, from the tokens before it."""
        if not self.packs:
            return self._of_rows(tokens.ids, tokens.where)
        packed = tokens.packed
        with self.autocast():
            states: Tensor = self.module.get_decoder()(
                input_ids=packed.ids[None], position_ids=packed.at[None], attention_mask=self._packed_kinds(),
                use_cache=False, packed=packed_masks(packed, self._window),
            ).last_hidden_state  # fmt: skip
        return states[0].index_select(0, packed.before)

    def logits(self, ids: Tensor, where: Tensor) -> Tensor:
        """[N, V] logits that predict the tokens at the N places marked in ``where`` [B, T], in the order of the rows.

        Conversations ``ids`` [B, T] are padded at their ends. The first token of a row is never marked.
        """
        with self.autocast():
            marked: Tensor = self.head(self._of_rows(ids, where))
        return marked

    def _of_rows(self, ids: Tensor, where: Tensor) -> Tensor:
        with self.autocast():
            if self._plain:
                states: Tensor = self.module.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state
            else:
                states = self.module(input_ids=ids, use_cache=False).logits
        return states[:, :-1][where[:, 1:]]

    def masks(self, at: Tensor, width: int) -> Tensor | dict[str, Tensor]:
        """[R, 1, N, L] columns that tokens at positions ``at`` [R, N] see, by kind of layer if only some have a window.

        ``width`` is the number of columns L.
        """
        columns, places = torch.arange(width, device=at.device), at[:, None, :, None]
        seen = columns <= places
        if self._window is None:
            return seen
        near = seen & (columns > places.clamp(max=width - 1) - self._window)  # padding sees a column, or would be NaN
        return self._by_kind(seen, near)

    def _packed_kinds(self) -> Tensor | dict[str, Tensor]:
        """In place of masks: one element for attention that is only causal, two with a window."""
        causal, near = (torch.ones(1, 1, 1, count, dtype=torch.bool, device=self.device) for count in (1, 2))
        return causal if self._window is None else self._by_kind(causal, near)

    def _by_kind(self, seen: Tensor, near: Tensor) -> Tensor | dict[str, Tensor]:
        kinds = getattr(self.config, "layer_types", None) or [SLIDING]
        return {**dict.fromkeys(kinds, seen), SLIDING: near} if set(kinds) != {SLIDING} else near

    @property
    def _window(self) -> int | None:
        """Tokens that layers of the kind ``SLIDING`` see; None without such layers."""
        kinds = getattr(self.config, "layer_types", None) or [SLIDING]
        window = getattr(self.config, "sliding_window", None)
        return int(window) if window and SLIDING in kinds else None

    @torch.no_grad()
    def _can_pack(self) -> bool:
        """Compare packed rows with padded ones."""
        if not self._plain:
            return False
        rows = [np.array(ids) % min(self.vocabulary, 97) for ids in _CHECKED]
        marks = [np.arange(len(ids)) > 0 for ids in rows]
        made = [
            TrainingRow(ids, sampled, np.zeros(len(ids) - 1, np.float32), 0.0)
            for ids, sampled in zip(rows, marks, strict=True)
        ]
        tokens = padded(made, [0.0] * len(made), self.device)
        window = getattr(self.config, "sliding_window", None)
        self.packs = True
        try:
            if window:
                self.config.sliding_window = _WINDOW  # masks are made from it; so a few tokens check them
            found, wanted = self.hidden(tokens).float(), self._of_rows(tokens.ids, tokens.where).float()
        except Exception:  # of the model's own code
            return False
        finally:
            if window:
                self.config.sliding_window = window
        bound = 0.1 if self.bf16 else 1e-3
        return torch.allclose(found, wanted, bound, bound * float(wanted.abs().max()))


def checkpoint_layers(module: nn.Module) -> None:
    """Keep only the input of each layer of a model for the gradient, and compute the rest again."""
    for layer in module.modules():
        if isinstance(layer, GradientCheckpointingLayer) and "forward" not in vars(layer):  # not again
            layer.forward = partial(_checkpointed, layer.forward)


def _checkpointed(forward: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
    if not torch.is_grad_enabled():
        return forward(*args, **kwargs)
    return checkpoint(forward, *args, use_reentrant=False, preserve_rng_state=False, **kwargs)  # nothing is random


def _has_decoder(module: Any) -> bool:  # noqa: ANN401
    """Return False for models, such as Llama 4, that give themselves as their decoder."""
    return module.get_decoder() is not module
