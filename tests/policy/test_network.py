import pytest
import torch

from selfplay.checkpoint import ActionHeads, NetworkSpec
from selfplay.errors import IncompatibleError
from selfplay.policy.heads import logprob_entropy, sample
from selfplay.policy.network import ACTIVATIONS, FIRST_PRESS, FIRST_REST, build_network
from tests.policy.networks import HEADS, SPEC

CONTROLLER = ActionHeads(binary=8, sizes=(17, 17, 17, 17, 5))
WIDE = NetworkSpec(obs_width=30, hidden=(64, 64))


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_shapes():
    network = build_network(SPEC, HEADS, seeded())
    logits, value = network(torch.zeros(5, SPEC.obs_width))
    assert logits.shape == (5, 2 + 3 + 3 + 2)
    assert value.shape == (5,)


def test_a_fresh_policy_is_nearly_uniform_but_for_the_buttons_which_it_rarely_presses():
    network = build_network(WIDE, CONTROLLER, seeded())
    obs = torch.randn(500, WIDE.obs_width, generator=seeded(1))
    logits, value = network(obs)
    torch.testing.assert_close(logits[:, :8].sigmoid(), torch.full((500, 8), 0.119), atol=0.02, rtol=0)
    assert torch.sigmoid(torch.tensor(FIRST_PRESS)).item() == pytest.approx(0.119, abs=1e-3)
    sticks = torch.softmax(logits[:, 8:25], 1)
    torch.testing.assert_close(sticks, torch.full_like(sticks, 1 / 17), atol=0.01, rtol=0)
    assert value.std() > 0.1  # the value is not shrunk
    actions, _ = sample(network.heads, logits, seeded())
    assert 0.1 < actions[:, :8].float().mean() < 0.14


def test_a_fresh_policy_prefers_the_classes_at_rest_where_it_is_told_them():
    network = build_network(WIDE, CONTROLLER, seeded(), rest=(8, -1, 8, 8, 0))
    logits, _ = network(torch.randn(50, WIDE.obs_width, generator=seeded(1)))
    for first, size, rest, share in ((8, 17, 8, FIRST_REST), (25, 17, 8, 1 / 17), (76, 5, 0, FIRST_REST)):
        probability = torch.softmax(logits[:, first : first + size], 1)[:, rest]
        torch.testing.assert_close(probability, torch.full((50,), share), atol=0.02, rtol=0)


def test_one_seed_gives_one_network():
    networks = [build_network(SPEC, HEADS, seeded(seed)).state_dict() for seed in (1, 1, 2)]
    assert all(torch.equal(networks[0][name], networks[1][name]) for name in networks[0])
    assert not torch.equal(networks[0]["out.weight"], networks[2]["out.weight"])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_parameter_learns(activation):
    network = build_network(SPEC.model_copy(update={"activation": activation}), HEADS, seeded())
    logits, value = network(torch.randn(20, SPEC.obs_width, generator=seeded()))
    actions, _ = sample(network.heads, logits.detach(), seeded())
    logprob, _ = logprob_entropy(network.heads, logits, actions)
    for gradient in torch.autograd.grad((logprob + value).sum(), list(network.parameters())):
        assert gradient.abs().sum() > 0


def test_a_network_without_hidden_layers_is_linear():
    network = build_network(NetworkSpec(obs_width=3, hidden=()), HEADS, seeded())
    assert sum(p.numel() for p in network.parameters()) == (3 + 1) * (2 + 8 + 1)


@pytest.mark.parametrize("change", [{"kind": "transformer"}, {"activation": "gelu"}])
def test_what_is_unknown_is_refused_by_name_with_what_is_valid(change):
    with pytest.raises(IncompatibleError, match=f"{next(iter(change.values()))}.*valid: mlp, .*; tanh, relu, silu"):
        build_network(SPEC.model_copy(update=change), HEADS)
