import pytest
import torch

from selfplay.learner.dense import Dense, can_handle
from selfplay.rollout.buffers import Workspace
from tests.policy.networks import SPEC, network


def case(hidden, activation):
    """A network, observations, a gradient after its outputs, and these outputs as the network itself gives them."""
    net = network(spec=SPEC.model_copy(update={"hidden": hidden, "activation": activation}))
    generator = torch.Generator().manual_seed(0)
    obs = torch.randn(33, net.spec.obs_width, generator=generator)
    logits, value = net(obs)
    along = torch.randn(33, net.heads.logits + 1, generator=generator)
    return net, obs, along, torch.cat([logits, value[:, None]], 1)


@pytest.mark.parametrize("hidden", [(), (5,), (7, 3), (4, 4, 4)])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_outputs_and_gradients_are_those_of_the_network(hidden, activation):
    net, obs, along, expected = case(hidden, activation)
    before, dense, everything = along.clone(), Dense(net), list(net.parameters())
    workspace = Workspace()
    for _ in range(2):  # the second time in arrays that are full of the first
        kept = dense.forward(obs, workspace)
        torch.testing.assert_close(kept[-1], expected)
        found = dense.backward(kept, along, len(everything) // 2, workspace)
        gradients = torch.autograd.grad(expected, everything, along, retain_graph=True)
        torch.testing.assert_close(tuple(found), gradients, rtol=1e-5, atol=1e-6)
        assert torch.equal(along, before)


@pytest.mark.parametrize("layers", [1, 2])
def test_the_last_layers_alone(layers):
    net, obs, along, expected = case((7, 3), "tanh")
    dense, workspace, last = Dense(net), Workspace(), list(net.parameters())[-2 * layers :]
    found = dense.backward(dense.forward(obs, workspace), along, layers, workspace)
    torch.testing.assert_close(tuple(found), torch.autograd.grad(expected, last, along), rtol=1e-5, atol=1e-6)


def test_what_it_cannot_handle_it_says():
    assert can_handle(case((5,), "relu")[0])
    assert not can_handle(case((5,), "silu")[0])
    assert not can_handle(case((5,), "tanh")[0].double())
    assert not can_handle(case((5,), "tanh")[0].to("meta"))
