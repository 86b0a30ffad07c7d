"""Networks of a user's own."""

import pytest
import torch

from selfplay.checkpoint import ActionHeads, NetworkSpec
from selfplay.errors import ConfigError, IncompatibleError
from selfplay.games import plugins
from selfplay.learner import dense
from selfplay.policy.network import build_network, check_weights, make_body
from selfplay.policy.network_group import NetworkGroup
from selfplay.policy.policy import frozen_copy
from selfplay.policy.recurrent_state import RecurrentState
from selfplay.runner.serialization import pack_network, unpack_network
from tests.learner.batches import played, ppo, seeded, weights
from tests.runner.links import crossed

HEADS = ActionHeads(binary=2, sizes=(3, 3, 2))


def named(name):
    return f"tests.policy.bodies:{name}"


@pytest.fixture(autouse=True)
def _named_by_a_person(monkeypatch):
    monkeypatch.setattr(plugins, "_allowed", set())
    for name in ("TwoLayers", "wide", "Unused", "Flat", "failing", "none", "number", "absent"):
        plugins.allow(named(name))


def make(name="TwoLayers", seed=0):
    return build_network(NetworkSpec(kind=named(name), obs_width=4, hidden=()), HEADS, seeded(seed))


def test_our_layer_of_logits_and_value_stands_on_its_outputs():
    network = make("wide")
    logits, value = network(torch.randn(7, 4, generator=seeded()))
    assert (logits.shape, value.shape) == ((7, 10), (7,))
    assert (network.out.in_features, network.memory_width) == (12, 0)


def test_first_weights_follow_from_the_seed_and_leave_other_random_numbers_alone():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    make_body(named("TwoLayers"), 4)
    assert torch.equal(torch.get_rng_state(), before)
    one, same, other = make(), make(), make(seed=1)
    assert torch.equal(weights(one), weights(same))
    assert not torch.equal(one.trunk[0].first.weight, other.trunk[0].first.weight)


def test_it_learns_as_a_dense_network_of_the_same_weights_does():
    mine, ours = make(), build_network(NetworkSpec(obs_width=4, hidden=(8, 8)), HEADS, seeded(3))
    with torch.no_grad():
        for parameter, same in zip(mine.parameters(), ours.parameters(), strict=True):
            parameter.copy_(same)
    assert dense.can_handle(ours)
    assert not dense.can_handle(mine)
    batch = played(ours)
    for network in (mine, ours):
        with ppo(network, epochs=2, batch_size=32) as learner:
            learner.update(batch, seeded())
    torch.testing.assert_close(weights(mine), weights(ours), atol=2e-5, rtol=1e-3)


def test_networks_of_any_kind_play_beside_each_other():
    dense_ones = [
        build_network(NetworkSpec(obs_width=4, hidden=hidden), HEADS, seeded(2)) for hidden in ((), (8,), (8,))
    ]
    networks = [frozen_copy(each) for each in (make(), make(seed=1), make("wide"), *dense_ones)]
    members = [(network, torch.tensor([2 * i, 2 * i + 1])) for i, network in enumerate(networks)]
    memory, obs = RecurrentState(12), torch.randn(12, 4, generator=seeded())
    group = NetworkGroup(members, memory)
    with torch.inference_mode():
        wanted = torch.cat([network(obs[rows])[0] for network, rows in members])
        found = torch.empty_like(wanted)
        found[group.rows] = group.logits(obs)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


def test_the_end_that_gets_it_from_a_trainer_need_not_be_told(monkeypatch):
    packed = crossed(pack_network(make()))
    monkeypatch.setattr(plugins, "_allowed", set())
    assert torch.equal(weights(unpack_network(packed)), weights(make()))


def test_weights_of_another_network_are_refused():
    network = make()
    shapes = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    check_weights(network.spec, HEADS, shapes)
    with pytest.raises(IncompatibleError, match=r"trunk\.0\.first\.bias is \(9,\), but \(8,\) is described"):
        check_weights(network.spec, HEADS, shapes | {"trunk.0.first.bias": (9,)})
    with pytest.raises(IncompatibleError, match="makes its own layers"):
        check_weights(network.spec.model_copy(update={"hidden": (8,)}), HEADS, shapes)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Unused", "RuntimeError: .* appears to not have been used in the graph"),
        ("Flat", r"made torch.float32 \[2\] of observations \[2, 4\]; torch.float32 \[2, width\] is needed"),
        ("failing", "ValueError: no network for 4"),
        ("none", "it made NoneType; a torch.nn.Module is needed"),
        ("number", "TypeError: "),
        ("absent", "tests.policy.bodies has no 'absent'"),
        ("unnamed", f"add --backbone {named('unnamed')}$"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line(name, words):
    with pytest.raises(ConfigError, match=words) as caught:
        make_body(named(name), 4)
    assert named(name) in str(caught.value)
    assert "\n" not in str(caught.value)
