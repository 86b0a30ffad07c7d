"""Forward pass of a Llama over a cache of keys and values, in few operations.

With a small model, much of the time of a step is the interpreter's, whose lock the threads of writers share: by the
forward pass of transformers two writers take 1.34 times as long, one takes 1.13 times (256 games, two cores). It is for
plain Llamas: no bias, no adapter, the usual rotary embedding. Weights are read in each call, so they may be trained
between calls.
Letters in shapes: R rows, N new tokens of each, L columns, H heads, K of them for keys and values, D their width, V
tokens of the vocabulary, W width of the hidden states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear, rms_norm, silu
from transformers import LlamaForCausalLM

from selfplay.dialogue.language.attention import attend

if TYPE_CHECKING:
    from selfplay.dialogue.language.attention import ColumnCache

_PROJECTIONS: Final = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class LlamaForward:
    """Call it as the model; ``fits`` says which models it computes."""

    def __init__(self, module: Any) -> None:  # noqa: ANN401
        self._module = module
        config = module.config
        self._eps = float(config.rms_norm_eps)
        self._head = int(module.model.layers[0].self_attn.head_dim)
        places = torch.arange(int(config.max_position_embeddings), device=module.device)[None]
        with torch.no_grad():
            cos, sin = module.model.rotary_emb(torch.empty(0, device=module.device), places)
        half = self._head // 2
        self._cos = cos[0]  # [context, D]
        self._sin = torch.cat((-sin[0, :, :half], sin[0, :, half:]), -1)  # of the two halves of a head, exchanged

    @staticmethod
    def fits(module: Any) -> bool:  # noqa: ANN401
        if type(module) is not LlamaForCausalLM or module.dtype != torch.float32:
            return False
        config: Any = module.config
        kinds = [each for name, each in module.named_modules() if name.rpartition(".")[2] in _PROJECTIONS]
        plain = all(type(each) is nn.Linear and each.bias is None for each in kinds)
        usual = config.hidden_act == "silu" and config.rope_parameters["rope_type"] == "default"
        return plain and usual and len(kinds) == len(_PROJECTIONS) * len(module.model.layers)

    def __call__(self, cache: ColumnCache, ids: Tensor, at: Tensor, seen: Tensor) -> Tensor:
        """[R, V] logits after the last of the tokens [R, N] at positions ``at``, which see columns [R, 1, N, L].

        The cache has its place.
        """
        model = self._module.model
        hidden = embedding(ids, model.embed_tokens.weight)
        cos, sin = (embedding(at, table)[:, :, None] for table in (self._cos, self._sin))  # [R, N, 1, D]
        for number, layer in enumerate(model.layers):
            states = self._norm(hidden, layer.input_layernorm)
            hidden = hidden + self._attention(layer.self_attn, cache, number, states, cos, sin, seen)
            states = self._norm(hidden, layer.post_attention_layernorm)
            mlp = layer.mlp
            inner = silu(linear(states, mlp.gate_proj.weight)) * linear(states, mlp.up_proj.weight)
            hidden = hidden + linear(inner, mlp.down_proj.weight)
        return linear(self._norm(hidden[:, -1], model.norm), self._module.lm_head.weight)

    def _attention(
        self,
        part: Any,  # noqa: ANN401
        cache: ColumnCache,
        number: int,
        states: Tensor,
        cos: Tensor,
        sin: Tensor,
        seen: Tensor,
    ) -> Tensor:
        """[R, N, W] output of the attention of a layer, from its normed input."""
        projections = (part.q_proj, part.k_proj, part.v_proj)
        query, key, value = (
            linear(states, each.weight).view(*states.shape[:-1], -1, self._head) for each in projections
        )
        query, key = (self._turn(each, cos, sin) for each in (query, key))
        keys, values = cache.update(key.transpose(1, 2), value.transpose(1, 2), number)
        out, _ = attend(part, query.transpose(1, 2), keys, values, seen, part.scaling)
        return linear(out.flatten(2), part.o_proj.weight)

    def _turn(self, states: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Queries or keys [R, N, heads, D] with their positions."""
        half = self._head // 2
        return torch.addcmul(states * cos, torch.cat((states[..., half:], states[..., :half]), -1), sin)

    def _norm(self, states: Tensor, norm: Any) -> Tensor:  # noqa: ANN401
        return rms_norm(states, norm.weight.shape, norm.weight, self._eps)
