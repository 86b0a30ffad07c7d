import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from selfplay.learner.grpo_loss import (
    LOSS_PARTS,
    GRPOSettings,
    clipped_loss,
    entropy_of,
    k3,
    micro_loss,
    token_logprobs,
    truncated_importance,
)
from selfplay.learner.sampling import Sampling, log_distribution
from selfplay.learner.token_batch import Targets

INFINITE = torch.tensor(-torch.inf)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def tokens(taken, logprob, advantage, **more):
    count = len(taken)
    options = {"weight": torch.full((count,), 1 / count), **more}
    return Targets(torch.as_tensor(taken), logprob, torch.as_tensor(advantage), **options)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        (1.0, 2.0, -2.0, -2.0),
        (1.25, 2.0, -2.5, -2.0),  # below the upper clip
        (1.5, 2.0, -2.6, 0.0),  # clipped
        (0.5, 2.0, -1.0, -2.0),  # has to come back
        (0.5, -2.0, 1.8, 0.0),  # clipped at the lower side
        (0.95, -2.0, 1.9, 2.0),
        (1.5, -2.0, 3.0, 2.0),
    ],
)
def test_the_clip_has_two_sides(ratio, advantage, loss, slope):
    log_ratio = torch.tensor([ratio], dtype=torch.float64).log().requires_grad_()
    found = clipped_loss(log_ratio, torch.tensor([advantage]), low=0.1, high=0.3)
    found.sum().backward()
    assert float(found.detach()) == pytest.approx(loss)
    assert float(log_ratio.grad) == pytest.approx(slope * ratio)


@pytest.mark.parametrize("advantage", [1.5, -1.5, 0.0])
def test_a_token_outside_of_the_nucleus_is_clipped_and_has_no_gradient(advantage):
    log_ratio = INFINITE.clone()[None].requires_grad_()
    found = clipped_loss(log_ratio, torch.tensor([advantage]), low=0.2, high=0.2)
    found.sum().backward()
    assert float(found.detach()) == pytest.approx(max(0.0, -0.8 * advantage), abs=1e-6)
    assert log_ratio.grad.tolist() == [0.0]


def test_kl_is_never_negative_and_its_mean_is_the_closed_form():
    policy, reference = torch.log_softmax(torch.randn(2, 6, generator=seeded(), dtype=torch.float64), -1)
    each = k3(policy, reference)
    assert bool((each >= 0).all())
    closed = (policy.exp() * (policy - reference)).sum()
    assert float((policy.exp() * each).sum()) == pytest.approx(float(closed))
    assert k3(policy, policy).tolist() == [0.0] * 6


@given(st.floats(-50, 0), st.floats(-50, 0))
def test_kl_stays_a_number(logprob, reference):
    policy = torch.tensor(logprob, requires_grad=True)
    distance = k3(policy, torch.tensor(reference))
    distance.backward()
    assert 0 <= float(distance.detach()) <= 10
    assert bool(policy.grad.isfinite())


def test_importance_is_truncated():
    sampler = torch.tensor([0.5, 0.5, 0.5, 0.5]).log()
    before = torch.tensor([0.25, 0.5, 1.0, 0.0]).log()
    assert truncated_importance(before, sampler, 1.5).tolist() == pytest.approx([0.5, 1.0, 1.5, 0.0])


def test_entropy_leaves_out_what_is_never_sampled():
    logits = torch.tensor([[0.0, 0.0, -3.0], [1.0, 2.0, 3.0]], requires_grad=True)
    found = entropy_of(log_distribution(logits, Sampling(top_p=0.9)))
    assert found.tolist()[0] == pytest.approx(torch.tensor(2.0).log().item())
    found.sum().backward()
    assert bool(logits.grad.isfinite().all())
    assert logits.grad[0, 2] == 0.0


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.5), Sampling(0.8, 0.7), Sampling(0.0, 0.3)])
def test_taken_tokens_are_scored_by_the_distribution_that_is_sampled_from(sampling):
    logits, taken = torch.randn(20, 6, generator=seeded()), torch.randint(6, (20,), generator=seeded(1))
    logprob, every = token_logprobs(logits, taken, sampling)
    assert torch.equal(every, log_distribution(logits, sampling))
    assert torch.equal(logprob, every[torch.arange(20), taken])


@given(
    st.integers(0, 2**31),
    st.floats(0.05, 1.0),
    st.floats(0.1, 2.0),
    st.sampled_from([0.0, 0.1]),
    st.floats(0.1, 30.0),
)
def test_no_gradient_stops_being_a_number_whatever_left_the_nucleus(seed, top_p, temperature, weight, spread):
    generator = seeded(seed)
    logits = (spread * torch.randn(12, 7, generator=generator)).requires_grad_()
    taken = torch.randint(7, (12,), generator=generator).tolist()
    batch = tokens(
        taken,
        -3 * torch.rand(12, generator=generator),
        torch.randn(12, generator=generator),
        reference=-3 * torch.rand(12, generator=generator),
    )
    sampling = Sampling(temperature, top_p)
    loss, parts = micro_loss(logits, batch, GRPOSettings(kl=weight, entropy=weight), sampling)
    loss.backward()
    assert bool(logits.grad.isfinite().all())
    assert bool(parts.isfinite().all())
    outside = token_logprobs(logits, torch.tensor(taken), sampling)[0] == -torch.inf
    assert int(parts[LOSS_PARTS.index("outside")]) == int(outside.sum())
    if not weight:
        assert logits.grad[outside].abs().sum() == 0


def test_parts_add_up():
    logits = torch.randn(9, 5, generator=seeded())
    taken = torch.randint(5, (9,), generator=seeded(1)).tolist()
    before = token_logprobs(logits, torch.tensor(taken), Sampling())[0]
    old = before + 0.6 * torch.randn(9, generator=seeded(2))
    batch = tokens(taken, old, torch.randn(9, generator=seeded(3)), reference=before - 0.1)
    settings = GRPOSettings(kl=0.3, entropy=0.2)
    loss, parts = micro_loss(logits, batch, settings, Sampling())
    part = dict(zip(LOSS_PARTS, (parts / 9).tolist(), strict=False))
    assert float(loss) == pytest.approx(part["policy_loss"] + 0.3 * part["kl"] - 0.2 * part["entropy"])
    log_ratio = before - old
    assert part["approx_kl"] == pytest.approx(float((log_ratio.exp() - 1 - log_ratio).mean()))
    assert part["clip_fraction"] == pytest.approx(float(((log_ratio.exp() - 1).abs() > 0.2).float().mean()))
    assert float(parts[-1]) == pytest.approx(float(log_ratio.abs().max()))


def test_importance_weighs_the_policy_term_alone():
    logits, taken = torch.randn(3, 5, generator=seeded()), [1, 2, 3]
    old = token_logprobs(logits, torch.tensor(taken), Sampling())[0]
    plain = tokens(taken, old, torch.ones(3), reference=old - 1)
    halved = tokens(taken, old, torch.ones(3), reference=old - 1, importance=torch.full((3,), 0.5))
    settings = GRPOSettings(kl=1.0)
    difference = (
        micro_loss(logits, halved, settings, Sampling())[0] - micro_loss(logits, plain, settings, Sampling())[0]
    )
    assert float(difference) == pytest.approx(0.5)
