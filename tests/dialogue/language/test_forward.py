"""Packed rows, checkpointing and chunks of logits change neither losses nor gradients."""

import numpy as np
import pytest
import torch
import transformers as hf

from selfplay.dialogue.language.attention import NAME
from selfplay.dialogue.language.forward import CausalModel, checkpoint_layers
from selfplay.learner import chunked
from selfplay.learner.chunked import chunked_loss
from selfplay.learner.token_batch import TrainingRow, micro_batches, padded
from tests.dialogue.language.models import of_config
from tests.dialogue.language.test_architectures import CONFIGS

UNPACKED = {"gemma2", "granite", "llama4"}  # their heads do more than a linear layer


def rows(vocabulary, count=9, longest=40):
    """In groups of three that begin alike."""
    rng, made = np.random.default_rng(0), []
    for number in range(count):
        if number % 3 == 0:
            prompt = rng.integers(1, vocabulary, 20)
        ids = np.concatenate([prompt, rng.integers(1, vocabulary, int(rng.integers(4, longest - 20)))])
        sampled = rng.random(len(ids)) < 0.5
        sampled[0], sampled[-1] = False, True
        made.append(TrainingRow(ids, sampled, np.zeros(sampled.sum(), np.float32), 1.0))
    return [made[number] for number in micro_batches(made, 10**6)[0]]


def gradients(model, batch):
    tokens = padded(batch, [1.0] * len(batch), torch.device("cpu"))

    def loss(logits, part):
        each = torch.nn.functional.cross_entropy(logits.float(), tokens.targets.taken[part], reduction="none")
        return each.sum(), each.sum()

    total, _ = chunked_loss(model.hidden(tokens), model.head, loss, model.vocabulary)
    parameters = [parameter for parameter in model.module.parameters() if parameter.requires_grad]
    return torch.cat([each.flatten() for each in torch.autograd.grad(total, parameters)])


def apart(one, other):
    return float((one - other).norm() / other.norm())


@pytest.mark.parametrize("name", CONFIGS)
def test_packed_rows_give_the_hidden_states_and_gradients_of_padded_ones(name):
    model = of_config(CONFIGS[name]()).causal
    assert model.packs == (name not in UNPACKED)
    batch = rows(model.vocabulary)
    tokens = padded(batch, [1.0] * len(batch), torch.device("cpu"))
    assert len(tokens.packed.ids) < 0.8 * sum(len(row.ids) for row in batch)
    packed, found = model.hidden(tokens), gradients(model, batch)
    model.packs = False
    torch.testing.assert_close(packed, model.hidden(tokens), rtol=1e-4, atol=1e-4)
    assert apart(found, gradients(model, batch)) < 1e-5


@pytest.mark.parametrize("name", ["qwen2", "gemma3", "gpt_oss"])
def test_checkpointing_and_chunks_change_no_gradient(name, monkeypatch):
    model = of_config(CONFIGS[name]()).causal
    batch = rows(model.vocabulary)
    plain = gradients(model, batch)
    monkeypatch.setattr(chunked, "CHUNK_BYTES", 4 * model.vocabulary * 7)
    checkpoint_layers(model.module)
    assert apart(gradients(model, batch), plain) < 1e-6


def kept_bytes(model, tokens):
    """Bytes kept for the gradient, without the weights."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.module.parameters()}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = model.hidden(tokens)
    del out
    return sum(storage.nbytes() for storage in kept.values())


def test_a_token_of_half_a_billion_parameters_keeps_little():
    """With the widths of Qwen2.5-0.5B: the input of each of its 24 layers, and one layer while it is computed again."""
    count, layers, per_token = 128, 24, {}
    row = TrainingRow(np.arange(1, count + 2), np.arange(count + 1) > 0, np.zeros(count, np.float32), 1.0)
    for depth in (1, 2):
        for checkpointing in (False, True):
            torch.manual_seed(0)
            config = hf.Qwen2Config(
                vocab_size=512, hidden_size=896, intermediate_size=4864, num_hidden_layers=depth,
                num_attention_heads=14, num_key_value_heads=2, tie_word_embeddings=True,
            )  # fmt: skip
            module = hf.Qwen2ForCausalLM(config).eval()
            module.set_attn_implementation(NAME)
            model = CausalModel(module)
            assert model.packs
            if checkpointing:
                checkpoint_layers(module)
            per_token[depth, checkpointing] = kept_bytes(model, padded([row], [1.0], torch.device("cpu"))) / count
    layer = per_token[2, False] - per_token[1, False]
    kept = per_token[2, True] - per_token[1, True]
    assert layers * layer > 2 * 2**20
    assert layers * kept + layer < 0.3 * 2**20
