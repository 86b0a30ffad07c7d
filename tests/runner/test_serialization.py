"""What crosses between machines arrives as it was, bit for bit, through JSON and arrays that cannot be written to."""

import json

import numpy as np
import pytest
import torch

from selfplay.checkpoint import ActionHeads, NetworkSpec
from selfplay.errors import IncompatibleError
from selfplay.league.modes import Opponent
from selfplay.policy.network import KINDS, build_network
from selfplay.runner.segment import SegmentOrder
from selfplay.runner.serialization import (
    networks_of,
    pack_network,
    pack_order,
    unpack_network,
    unpack_order,
)
from selfplay_melee.controller import ACTION_SPEC
from selfplay_melee.observation import OBS_WIDTH
from tests.runner.links import crossed

HEADS = ActionHeads(binary=ACTION_SPEC.binary, sizes=ACTION_SPEC.sizes)


def network(seed=0, kind="mlp"):
    hidden = (8,) if kind == "mlp" else (8, 8)
    options = {"window": 4} if kind == "attention" else {}
    spec = NetworkSpec(kind=kind, obs_width=OBS_WIDTH, hidden=hidden, activation="relu", options=options)
    return build_network(spec, HEADS, torch.Generator().manual_seed(seed)).eval()


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_decides_as_before(kind):
    one = network(kind=kind)
    other = unpack_network(crossed(pack_network(one)))
    assert other.spec == one.spec
    assert not other.training
    assert not any(parameter.requires_grad for parameter in other.parameters())
    obs, memory = torch.randn(5, OBS_WIDTH, generator=torch.Generator().manual_seed(1)), one.first_memory(5)
    for before, after in zip(one.step(obs, memory), other.step(obs, memory), strict=True):
        assert torch.equal(before, after)


def test_weights_that_are_not_its_own_are_refused():
    arrays, document = pack_network(network())
    with pytest.raises(IncompatibleError, match="do not fit"):
        unpack_network(({name: array[..., :1] for name, array in arrays.items()}, document))


def test_an_order_names_its_networks():
    now, old, taught = network(1), network(2), network(3)
    opponents = (Opponent("generation", "gen_0", "past"), Opponent("scripted", "random", "scripted"))
    order = SegmentOrder(7, 32, 6, now, {"gen_0": old, "main": now}, opponents, taught)
    assert networks_of(order) == [now, old, taught]
    names = {now: "a", old: "b", taught: "c"}
    document = json.loads(json.dumps(pack_order(order, names.__getitem__)))
    assert unpack_order(document, {name: net for net, name in names.items()}) == order


def test_arrays_of_a_network_are_no_views_of_it():
    one = network()
    arrays, _ = pack_network(one)
    with torch.no_grad():
        one.out.bias += 1.0
    assert not np.array_equal(arrays["out.bias"], one.out.bias.detach().numpy())
