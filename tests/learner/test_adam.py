import copy
import sys

import torch

from selfplay.learner.optimizers import Adam
from tests.support.processes import finish


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))


def descend(net, optimizer, steps, *, frozen=()):
    for step in range(steps):
        optimizer.zero_grad()
        obs = torch.randn(16, 5, generator=torch.Generator().manual_seed(step))
        net(obs).square().sum().backward()
        for parameter in frozen:
            parameter.grad = None
        optimizer.step()


def test_its_steps_are_those_of_torch_bit_for_bit():
    ours, theirs = network(), network()
    mine = Adam(ours.parameters(), 1e-2, eps=1e-5)
    reference = torch.optim.Adam(theirs.parameters(), 1e-2, eps=1e-5, fused=True)
    descend(ours, mine, 5)
    descend(theirs, reference, 5)
    mine.learning_rate = reference.param_groups[0]["lr"] = 3e-3
    descend(ours, mine, 5, frozen=list(ours.parameters())[:2])  # counts of steps differ from here
    descend(theirs, reference, 5, frozen=list(theirs.parameters())[:2])
    descend(ours, mine, 5)
    descend(theirs, reference, 5)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(a, b)
        for name, tensor in reference.state[b].items():
            assert torch.equal(mine.state[a][name], tensor), name


def test_it_goes_back_to_a_copy():
    net = network()
    optimizer = Adam(net.parameters(), 1e-2)
    descend(net, optimizer, 3)
    weights, state = copy.deepcopy(net.state_dict()), optimizer.copy()
    descend(net, optimizer, 3)
    after = copy.deepcopy(net.state_dict())
    net.load_state_dict(weights)
    optimizer.state = state
    descend(net, optimizer, 3)
    assert all(torch.equal(after[name], tensor) for name, tensor in net.state_dict().items())


def test_gradients_are_forgotten():
    net = network()
    optimizer = Adam(net.parameters(), 1e-2)
    descend(net, optimizer, 1)
    optimizer.zero_grad()
    assert all(parameter.grad is None for parameter in net.parameters())


def test_the_update_does_not_import_the_compiler_of_torch():
    code = (
        "import sys, torch\n"
        "from selfplay.learner.optimizers import Adam\n"
        "p = torch.nn.Parameter(torch.ones(3)); p.grad = torch.ones(3)\n"
        "Adam([p], 1e-3).step()\n"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert finish([sys.executable, "-c", code]).returncode == 0
