"""Our advantages, losses and gradients beside those of verl and TRL, on games of random words."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from selfplay.dialogue.instances import grouped
from selfplay.dialogue.packing import row_of
from selfplay.learner.advantages import group_advantages
from selfplay.learner.grpo_loss import GRPOSettings, clipped_loss, k3, micro_loss
from selfplay.learner.sampling import Sampling
from selfplay.learner.token_batch import padded, token_weights
from tests.dialogue.learner.token_models import LENGTH, VOCABULARY, Model, random_games
from tests.extras.peers import MARKS

pytestmark = MARKS

PROMPT = 3  # words of every row before any that may train
ROW_TOKENS = LENGTH - PROMPT
AGGREGATIONS = {  # ours: verl's, TRL's
    "constant": ("seq-mean-token-sum-norm", "dr_grpo"),
    "seq-mean": ("seq-mean-token-mean", "grpo"),
    "token-mean": ("token-mean", "bnpo"),
}


def rows_of_games():
    """Rows with advantages, log-probabilities of some sampler, importance weights and a reference."""
    rng = np.random.default_rng(0)
    rows = []
    for group in grouped(random_games(states=3)):
        for game, advantage in zip(group.instances, group_advantages(group.rewards, "grpo"), strict=True):
            sampled = game.sampled.copy()
            sampled[:PROMPT] = False
            row = row_of(replace(game, sampled=sampled), float(advantage))
            noise = rng.normal(-2.4, 0.4, (2, row.tokens)).astype(np.float32)
            weights = rng.uniform(0.5, 2, row.tokens).astype(np.float32)
            rows.append(replace(row, logprob=noise[0], reference=noise[1], importance=weights))
    return rows


def matrix(batch, values):
    """[B, T - PROMPT] of values [N] of the tokens that train, 0 elsewhere."""
    whole = torch.zeros(batch.where.shape)
    return whole.masked_scatter(batch.where, values)[:, PROMPT:]


@pytest.fixture(scope="module")
def rows():
    return rows_of_games()


@pytest.mark.parametrize("kind", ["grpo", "dr_grpo", "rloo"])
def test_advantages_are_those_of_verl(kind):
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage, compute_rloo_outcome_advantage

    groups = grouped(random_games(states=20, games=5))
    ours = np.concatenate([group_advantages(group.rewards, kind) for group in groups])
    rewards = torch.zeros(len(ours), 4)
    rewards[:, 2] = torch.from_numpy(np.concatenate([group.rewards for group in groups]))
    mask = torch.tensor([0.0, 1.0, 1.0, 0.0]).expand(len(ours), 4)
    index = np.repeat(np.array([f"{group.index}/{group.seat}" for group in groups], dtype=object), 5)
    if kind == "rloo":
        theirs, _ = compute_rloo_outcome_advantage(rewards, mask, index)
    else:
        theirs, _ = compute_grpo_outcome_advantage(rewards, mask, index, norm_adv_by_std_in_grpo=kind == "grpo")
    assert theirs[:, 2].numpy() == pytest.approx(ours, abs=1e-5)
    assert theirs[:, 3].abs().sum() == 0


def test_verl_gives_a_group_of_one_its_reward_and_we_do_not():
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    theirs, _ = compute_grpo_outcome_advantage(torch.tensor([[0.7]]), torch.ones(1, 1), np.array(["a"], dtype=object))
    assert float(theirs) == pytest.approx(0.7)
    assert group_advantages(np.array([0.7]), "grpo").tolist() == [0.0]


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("weighed", [False, True])
def test_the_loss_and_its_gradient_are_those_of_verl(rows, aggregation, weighed):
    from verl.trainer.ppo.core_algos import compute_policy_loss_vanilla
    from verl.workers.config import ActorConfig

    batch = padded(rows, token_weights(rows, aggregation, ROW_TOKENS), torch.device("cpu"))
    logprob = batch.targets.logprob + 0.5 * torch.randn(
        len(batch.targets.logprob), generator=torch.Generator().manual_seed(1)
    )
    ours, theirs = (logprob.clone().requires_grad_() for _ in range(2))
    each = clipped_loss(ours - batch.targets.logprob, batch.targets.advantage, 0.1, 0.3) * (
        batch.targets.importance if weighed else 1
    )
    loss = (each * batch.targets.weight).sum()
    loss.backward()
    config = ActorConfig(
        strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1, clip_ratio_low=0.1, clip_ratio_high=0.3,
        clip_ratio_c=1e9,
    )  # fmt: skip
    if aggregation == "constant":
        config.global_batch_info["loss_scale_factor"] = ROW_TOKENS
    expected, metrics = compute_policy_loss_vanilla(
        matrix(batch, batch.targets.logprob), matrix(batch, theirs), matrix(batch, batch.targets.advantage),
        batch.where[:, PROMPT:].float(), AGGREGATIONS[aggregation][0], config,
        matrix(batch, batch.targets.importance) if weighed else None,
    )  # fmt: skip
    expected.backward()
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), abs=1e-6)
    torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-7, rtol=1e-5)
    assert metrics["actor/pg_clipfrac"] > 0.1
    assert metrics["actor/pg_clipfrac_lower"] == 0


def test_the_distance_to_a_reference_is_that_of_verl():
    from verl.trainer.ppo.core_algos import kl_penalty

    generator = torch.Generator().manual_seed(2)
    logprob, reference = 8 * torch.randn(2, 4000, generator=generator)
    ours, theirs = (logprob.clone().requires_grad_() for _ in range(2))
    found, expected = k3(ours, reference), kl_penalty(theirs, reference, "low_var_kl")
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert float(found.detach().max()) == 10.0
    found.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-5, rtol=1e-5)


@pytest.fixture(scope="module")
def trl_trainer(tmp_path_factory):
    """Makes a TRL trainer with given options, of a language model with weights of its own for each."""
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
    from trl import GRPOConfig, GRPOTrainer

    words = {f"w{number}": number for number in range(VOCABULARY)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="w0")), eos_token="w1", pad_token="w2"
    )

    def make(**options):
        torch.manual_seed(0)
        shape = Qwen2Config(
            vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
            intermediate_size=64,
        )  # fmt: skip
        config = GRPOConfig(
            output_dir=str(tmp_path_factory.mktemp("trl")), report_to="none", use_cpu=True, bf16=False,
            gradient_checkpointing=False, per_device_train_batch_size=8, num_generations=8,
            max_completion_length=ROW_TOKENS, epsilon=0.1, epsilon_high=0.3, **options,
            use_bias_correction_kl=False,  # TRL would weigh the distance by the ratio; GRPO's paper and verl do not
        )  # fmt: skip
        trainer = GRPOTrainer(
            model=Qwen2ForCausalLM(shape), reward_funcs=lambda completions, **_: [0.0] * len(completions), args=config,
            train_dataset=Dataset.from_list([{"prompt": "w3 w4"}] * 8), processing_class=tokenizer,
        )  # fmt: skip
        trainer.model.train()
        trainer.current_gradient_accumulation_steps = 1
        return trainer

    return make


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("options", [{}, {"beta": 0.3}, {"temperature": 0.7}, {"weighed": True}])
def test_the_loss_and_its_gradient_are_those_of_trl(rows, trl_trainer, aggregation, options):
    """The whole way from ids: which tokens train, whose logits predict them, temperature, clip, KL, aggregation."""
    options = dict(options)
    weighed, beta = options.pop("weighed", False), options.pop("beta", 0.0)
    trainer = trl_trainer(loss_type=AGGREGATIONS[aggregation][1], **options)
    trainer.beta = beta  # only now, or it would look for the model's files to make a reference of them
    trainer.use_vllm = weighed  # the only case in which TRL weighs samples
    if not weighed:
        rows = [replace(row, importance=None) for row in rows]
    batch = padded(rows, token_weights(rows, aggregation, ROW_TOKENS), torch.device("cpu"))
    lengths = torch.tensor([len(row.ids) for row in rows])
    present = (torch.arange(batch.ids.shape[1]) < lengths[:, None]).long()
    inputs = {
        "prompt_ids": batch.ids[:, :PROMPT],
        "prompt_mask": present[:, :PROMPT],
        "completion_ids": batch.ids[:, PROMPT:],
        "completion_mask": present[:, PROMPT:],
        "tool_mask": batch.where[:, PROMPT:].long(),
        "advantages": torch.tensor([row.advantage for row in rows], dtype=torch.float32),
        "old_per_token_logps": matrix(batch, batch.targets.logprob),
        "ref_per_token_logps": matrix(batch, batch.targets.reference),
        "importance_sampling_ratio": matrix(batch, batch.targets.importance) if weighed else None,
    }
    expected = trainer._compute_loss(trainer.model, inputs)
    expected.backward()
    theirs = [parameter.grad.clone() for parameter in trainer.model.parameters()]
    trainer.model.zero_grad()
    settings = GRPOSettings(clip_low=0.1, clip_high=0.3, kl=beta)
    model = Model(Logits(trainer.model))
    sampling = Sampling(temperature=options.get("temperature", 1.0))
    loss, _ = micro_loss(model.head(model.hidden(batch)), batch.targets, settings, sampling)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), abs=1e-5)
    for parameter, gradient in zip(trainer.model.parameters(), theirs, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, atol=1e-5, rtol=1e-3)
    assert max(float(gradient.abs().max()) for gradient in theirs) > 1e-3


class Logits(torch.nn.Module):
    """A language model of transformers as one that gives logits alone."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids).logits
