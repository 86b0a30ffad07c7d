import pytest
import torch
import transformers as hf

from selfplay.dialogue.language.forward import CausalModel
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.errors import ConfigError
from selfplay.learner.sampling import Sampling
from tests.dialogue.language.models import converse, of_config, recomputed, sampled

SIZES = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 160, "tie_word_embeddings": True,
}  # fmt: skip
CONFIGS = {
    "qwen2": lambda: hf.Qwen2Config(**SIZES),
    "qwen3": lambda: hf.Qwen3Config(**SIZES, use_sliding_window=True, sliding_window=20, max_window_layers=1),
    "mistral": lambda: hf.MistralConfig(**SIZES, sliding_window=20),
    "gemma2": lambda: hf.Gemma2Config(
        **SIZES, sliding_window=20, attn_logit_softcapping=5.0, final_logit_softcapping=3.0
    ),
    "gemma3": lambda: hf.Gemma3TextConfig(**SIZES, sliding_window=20),
    "gpt_neox": lambda: hf.GPTNeoXConfig(**SIZES),
    "llama4": lambda: hf.Llama4TextConfig(
        **SIZES, attention_chunk_size=512, num_local_experts=2, num_experts_per_tok=2, intermediate_size_mlp=32
    ),
    "phi": lambda: hf.PhiConfig(**SIZES),
    "phi3": lambda: hf.Phi3Config(**SIZES),
    "gpt2": lambda: hf.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=160),
    "granite": lambda: hf.GraniteConfig(**SIZES, logits_scaling=2.0),
    # all experts of each token: which one is the best may hang on rounding, and so on the processor
    "gpt_oss": lambda: hf.GptOssConfig(**SIZES, sliding_window=20, num_local_experts=2, num_experts_per_tok=2),
    "deepseek": lambda: hf.DeepseekV3Config(
**{**SIZES, "num_key_value_heads": 4, "head_dim": 4}, first_k_dense_replace=9,
        q_lora_rank=None, kv_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=6,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_any_causal_model_with_keys_and_values_can_write(name):
    model = of_config(CONFIGS[name]())
    sampling = Sampling(1.0, 0.95, 8)
    assert model.context == 160  # a sliding window, shorter than the conversations, does not bound it
    made, replies = converse(LocalWriter(model, sampling))
    assert all(reply.room for of_one in replies for reply in of_one)
    for conversation in made:
        told = sampled(conversation.logprob, conversation.sampled)
        assert told == pytest.approx(recomputed(model, conversation, sampling), abs=1e-4)


def test_chunks_of_attention_bound_the_context():
    chunks = hf.Llama4TextConfig(**SIZES, attention_chunk_size=40, num_local_experts=2, intermediate_size_mlp=32)
    assert of_config(chunks).context == 40


def test_a_window_that_is_left_out_is_found(monkeypatch):
    """The check shrinks the window, so that a few tokens reach beyond it."""
    monkeypatch.setattr(CausalModel, "masks", lambda _, at, width: torch.arange(width) <= at[:, None, :, None])
    with pytest.raises(ConfigError, match="attend in a way of their own"):
        of_config(CONFIGS["gemma3"]())


@pytest.mark.parametrize(
    "config",
    [
        lambda: hf.MambaConfig(hidden_size=32, num_hidden_layers=2, state_size=4),
        lambda: hf.BloomConfig(hidden_size=32, n_layer=2, n_head=4),
        lambda: hf.RecurrentGemmaConfig(**SIZES),
    ],
)
def test_models_that_keep_something_else_are_refused_in_one_line(config):
    with pytest.raises(ConfigError, match=r"models of the type .* cannot be played here") as refused:
        of_config(config())
    assert "\n" not in str(refused.value)


HYBRIDS = {
    "lfm2": lambda: hf.Lfm2Config(**SIZES, layer_types=["conv", "full_attention", "conv"], block_multiple_of=8),
    "mamba2": lambda: hf.Mamba2Config(
        hidden_size=32, num_hidden_layers=2, state_size=8, num_heads=4, head_dim=16, n_groups=1
    ),
    "falcon_h1": lambda: hf.FalconH1Config(
        **SIZES, mamba_d_ssm=64, mamba_n_heads=4, mamba_d_head=16, mamba_n_groups=1, mamba_d_state=8
    ),
}


@pytest.mark.parametrize("name", HYBRIDS)
def test_models_without_a_cache_of_keys_and_values_score_and_learn(name):
    model = of_config(HYBRIDS[name](), plays=False)
    ids = torch.randint(1, model.vocabulary, (2, 12), generator=torch.Generator().manual_seed(0))
    where = torch.zeros(2, 12, dtype=torch.bool)
    where[0, 4:], where[1, 5:8] = True, True
    logits = model.logits(ids, where)
    alone = [model.logits(ids[:1], where[:1]), model.logits(ids[1:, :8], where[1:, :8])]  # no padding
    torch.testing.assert_close(logits, torch.cat(alone), atol=1e-5, rtol=1e-4)
    model.module.set_attn_implementation("eager")
    torch.testing.assert_close(logits, model.logits(ids, where), atol=1e-5, rtol=1e-4)
    logits.logsumexp(-1).sum().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.module.parameters())
    with pytest.raises(ConfigError, match="cannot be played here"):
        LocalWriter(model, Sampling())


def test_an_attention_that_is_not_the_models_own_is_found(monkeypatch):
    """As of a model that gives its attention something that this one does not know."""
    from selfplay.dialogue.language import attention

    monkeypatch.setattr(attention, "scaled_dot_product_attention", lambda query, *_, **__: query)
    with pytest.raises(ConfigError, match="attend in a way of their own"):
        of_config(CONFIGS["qwen2"]())
