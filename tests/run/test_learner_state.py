import numpy as np
import pytest
import torch

from selfplay.errors import IncompatibleError
from selfplay.run.learner_state import learner_arrays, restore_learner
from tests.learner.batches import played, ppo, seeded, weights
from tests.policy.networks import SPEC, network


def trained(learner, generator, updates=2):
    for i in range(updates):
        learner.update(played(network(), seed=i), generator)


@pytest.mark.parametrize("before", [0, 2])
def test_a_restored_learner_goes_on_bit_for_bit(before):
    with ppo(network(0), batch_size=32) as one, ppo(network(9), batch_size=32) as other:
        generators = seeded(1), seeded(2)
        trained(one, generators[0], before)
        trained(other, generators[1], 1)  # its own past must leave no trace
        restore_learner(other, generators[1], learner_arrays(one, generators[0]))
        assert torch.equal(weights(one.network), weights(other.network))
        for learner, generator in zip((one, other), generators, strict=True):
            trained(learner, generator)
        assert torch.equal(weights(one.network), weights(other.network))
        arrays = [learner_arrays(*pair) for pair in zip((one, other), generators, strict=True)]
    assert arrays[0].keys() == arrays[1].keys()
    assert all(np.array_equal(arrays[0][name], arrays[1][name]) for name in arrays[0])


def test_names_and_types_are_those_that_a_checkpoint_takes():
    with ppo(network()) as learner:
        assert not any(name.startswith("optimizer/") for name in learner_arrays(learner, seeded()))
        trained(learner, seeded())
        arrays = learner_arrays(learner, seeded())
    assert {name.split("/")[0] for name in arrays} == {"params", "optimizer", "rng"}
    assert {name.split("/")[-1] for name in arrays if name.startswith("optimizer/")} == {
        "step", "exp_avg", "exp_avg_sq",
    }  # fmt: skip
    assert arrays["params/out.bias"].dtype == np.float32


def test_arrays_are_copies():
    with ppo(network()) as learner:
        generator = seeded()
        trained(learner, generator)
        arrays = learner_arrays(learner, generator)
        kept = {name: array.copy() for name, array in arrays.items()}
        trained(learner, generator)
        assert all(np.array_equal(arrays[name], kept[name]) for name in kept)
        restore_learner(learner, generator, arrays)
        trained(learner, generator)
        assert all(np.array_equal(arrays[name], kept[name]) for name in kept)


def test_a_learner_of_another_structure_is_refused():
    other = SPEC.model_copy(update={"hidden": (8, 9)})
    with ppo(network()) as learner, ppo(network(spec=other)) as wider:
        arrays = learner_arrays(wider, seeded())
        with pytest.raises(IncompatibleError, match="weights do not fit"):
            restore_learner(learner, seeded(), arrays)


def test_a_state_without_its_randomness_is_refused():
    with ppo(network()) as learner:
        arrays = learner_arrays(learner, seeded())
        del arrays["rng/learner"]
        with pytest.raises(IncompatibleError, match="rng/learner"):
            restore_learner(learner, seeded(), arrays)
