import pytest
import torch

from selfplay.checkpoint.documents import ActionHeads, NetworkSpec
from selfplay.policy.network import build_network
from selfplay.policy.network_group import NetworkGroup
from selfplay.policy.recurrent_state import RecurrentState, infer_directly

HEADS = ActionHeads(binary=2, sizes=(3, 5))
SEATS = 60


def make(seed, kind="mlp", hidden=(16, 8), activation="tanh"):
    spec = NetworkSpec(kind=kind, obs_width=6, hidden=hidden, activation=activation)
    return build_network(spec, HEADS, torch.Generator().manual_seed(seed))


def one_by_one(members, memory, obs):
    logits = torch.full((SEATS, members[0][0].heads.logits), torch.nan)
    for network, rows in members:
        logits[rows] = memory.step(network, obs[rows], rows)[0]
    return logits


@pytest.mark.parametrize("kinds", ["same", "shapes", "activations", "recurrent", "alone"])
def test_a_group_gives_what_its_networks_give_one_by_one(kinds):
    others = {
        "same": make(9),
        "shapes": make(9, hidden=(8, 8)),
        "activations": make(9, activation="relu"),
        "recurrent": make(9, "gru", (16, 16)),
        "alone": make(9),
    }
    networks = [make(seed) for seed in range(3)] if kinds != "alone" else []
    order = torch.randperm(SEATS, generator=torch.Generator().manual_seed(1))
    counts = [1, 3, 50][: len(networks)]
    members = list(zip([others[kinds], *networks], torch.split(order[: 4 + sum(counts)], [4, *counts]), strict=True))
    memory, reference = RecurrentState(SEATS), RecurrentState(SEATS)
    group = NetworkGroup(members, memory)
    assert sorted(group.rows.tolist()) == sorted(order[: 4 + sum(counts)].tolist())
    with torch.inference_mode():
        for seed in range(3):
            obs = torch.randn(SEATS, 6, generator=torch.Generator().manual_seed(seed))
            wanted = one_by_one(members, reference, obs)[group.rows]
            torch.testing.assert_close(group.logits(obs), wanted, rtol=1e-5, atol=1e-6)


def test_networks_of_one_shape_run_as_one():
    calls = []

    def counted(network, obs, memory):
        calls.append(network)
        return infer_directly(network, obs, memory)

    members = [(make(seed), torch.tensor([2 * seed, 2 * seed + 1])) for seed in range(5)]
    memory = RecurrentState(SEATS)
    group = NetworkGroup(members, memory)
    memory.infer = counted
    group.logits(torch.zeros(SEATS, 6))
    assert not calls
    NetworkGroup(members, RecurrentState(SEATS, counted)).logits(torch.zeros(SEATS, 6))
    assert len(calls) == 5, "networks that run elsewhere run one by one"
