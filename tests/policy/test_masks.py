"""What is not legal is never played, has no probability and teaches nothing."""

import numpy as np
import pytest
import torch

from selfplay.learner.batch import Batch
from selfplay.learner.ppo import PPOSettings
from selfplay.policy.compiled_heads import LANES
from selfplay.policy.heads import NEVER, Heads, logprob_entropy, masked, probabilities, sample
from selfplay.policy.policy import Policy
from tests.learner.batches import learned
from tests.policy.networks import network, policy_meta

HEADS = Heads(2, (3, 3, 2))


def mask(*rows):
    """Two buttons, then classes of three categoricals."""
    return torch.tensor([[c == "1" for c in row.replace(" ", "")] for row in rows])


def test_no_mask_changes_nothing():
    logits = torch.randn(LANES + 1, HEADS.logits, generator=torch.Generator().manual_seed(0))
    assert masked(logits, None) is logits
    everything = torch.ones_like(logits, dtype=torch.bool)
    generators = [torch.Generator().manual_seed(1) for _ in range(2)]
    plain, open_to_all = (
        sample(HEADS, logits, generator, legal) for generator, legal in zip(generators, (None, everything), strict=True)
    )
    assert torch.equal(plain[0], open_to_all[0])
    assert torch.equal(plain[1], open_to_all[1])


@pytest.mark.parametrize("greedy", [False, True])
def test_only_legal_actions_are_drawn_with_the_probability_that_they_have(greedy):
    legal = mask("10 011 100 01").expand(4000, -1)
    logits = torch.tensor([0.0, 9.0, 9.0, 0.5, 0.0, 0.0, 9.0, 9.0, 9.0, 0.0]).expand(4000, -1)
    actions, logprob = sample(HEADS, logits, torch.Generator().manual_seed(0), legal, greedy=greedy)
    assert set(actions[:, 1].tolist()) == {0}
    assert set(actions[:, 2].tolist()) <= {1, 2}
    assert (set(actions[:, 3].tolist()), set(actions[:, 4].tolist())) == ({0}, {1})
    again, entropy = logprob_entropy(HEADS, masked(logits, legal), actions)
    torch.testing.assert_close(logprob, again)
    assert torch.isfinite(entropy).all()
    shares = probabilities(HEADS, masked(logits, legal))
    assert not shares[~legal].any()
    expected = torch.sigmoid(torch.tensor(0.5))  # the second of two classes, half a logit ahead
    torch.testing.assert_close(shares[0, 3], expected)
    if not greedy:
        assert float((actions[:, 2] == 1).float().mean()) == pytest.approx(float(expected), abs=0.03)


@pytest.mark.parametrize("number", [0.0, 1.0 - 2.0**-24])
def test_the_ends_of_the_random_numbers_are_legal_too(monkeypatch, number):
    """A draw of 0, or of what rounding left above the sum, falls on no class of probability 0."""
    monkeypatch.setattr(torch, "rand", lambda shape, **_: torch.full(shape, number))
    logits = torch.randn(2000, 5, generator=torch.Generator().manual_seed(0))
    legal = torch.tensor([False, True, True, True, False]).expand(2000, -1)
    actions, _ = sample(Heads(0, (5,)), logits, None, legal)
    assert set(actions[:, 0].tolist()) <= {1, 2, 3}


def test_a_row_without_choice_has_no_gradient_and_others_none_for_what_is_not_legal():
    net = network()
    obs = torch.randn(2, 4, generator=torch.Generator().manual_seed(0))
    legal = mask("00 100 010 01", "01 011 111 11")
    logits, value = net(obs)
    actions, logprob = sample(net.heads, logits.detach(), torch.Generator().manual_seed(1), legal)
    assert logprob[0] == 0.0
    free = logits.detach().requires_grad_()
    found, entropy = logprob_entropy(net.heads, masked(free, legal), actions)
    assert entropy[0] == 0.0
    (found.sum() + entropy.sum()).backward()
    assert not free.grad[0].any()
    assert not free.grad[1][~legal[1]].any()
    assert free.grad[1].any()
    batch = Batch(obs, actions, logprob, value.detach(), torch.ones(2), value.detach(), legal)
    settings = PPOSettings(value_coefficient=0.0, entropy_coefficient=1.0)
    gradients, parts = learned(net, batch.items(slice(0, 1)), settings)
    assert not any(gradient.any() for gradient in gradients)
    assert float(parts[0]) == -1.0  # ratio 1 times its advantage


def test_rows_of_a_batch_keep_their_masks():
    rows = torch.arange(3.0)
    legal = mask("10 100 010 01", "01 011 111 11", "11 111 111 11")
    batch = Batch(rows[:, None], rows[:, None].to(torch.int8), rows, rows, rows, rows, legal)
    assert torch.equal(batch.items(torch.tensor([2, 0])).legal, legal[[2, 0]])
    assert Batch(*(rows,) * 6).items(slice(1)).legal is None


def test_a_policy_acts_within_the_mask():
    policy = Policy(policy_meta(), network())
    obs = np.zeros((500, 4), np.float32)
    legal = mask("00 001 010 10").expand(500, -1).numpy()
    assert np.unique(policy.act(obs, torch.Generator(), legal), axis=0).tolist() == [[0, 0, 2, 1, 0]]
    shares = policy.probabilities(obs[:1], legal[:1])
    assert shares[0].tolist() == [0, 0, 0, 0, 1, 0, 1, 0, 1, 0]
    assert np.exp(NEVER) == 0.0
