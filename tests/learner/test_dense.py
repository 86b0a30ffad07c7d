import pytest
import torch

from selfplay.learner.dense import joined
from tests.policy.networks import SPEC, network


def plain(net, obs):
    logits, value = net(obs)
    return torch.cat([logits, value[:, None]], 1)


@pytest.mark.parametrize("hidden", [(), (5,), (7, 3), (4, 4, 4)])
@pytest.mark.parametrize("activation", ["tanh", "relu", "silu"])
def test_outputs_and_gradients_are_those_of_the_network(hidden, activation):
    net = network(spec=SPEC.model_copy(update={"hidden": hidden, "activation": activation}))
    generator = torch.Generator().manual_seed(0)
    obs = torch.randn(33, net.spec.obs_width, generator=generator)
    along = torch.randn(33, net.heads.logits + 1, generator=generator)
    before = along.clone()
    found, expected = joined(net, obs), plain(net, obs)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(out, list(net.parameters()), along) for out in (found, expected)]
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-5, atol=1e-6)
    assert torch.equal(along, before)


def test_some_parameters_alone():
    net = network()
    obs = torch.randn(9, net.spec.obs_width, generator=torch.Generator().manual_seed(0))
    last = [net.out.weight, net.out.bias]
    found, expected = (torch.autograd.grad(out[:, -1].sum(), last) for out in (joined(net, obs), plain(net, obs)))
    torch.testing.assert_close(found, expected)
