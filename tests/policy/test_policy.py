import re

import numpy as np
import pytest
import torch

from selfplay.checkpoint import ActionHeads, load_checkpoint
from selfplay.checkpoint.generations import save_policy
from selfplay.errors import IncompatibleError, NotARunError
from selfplay.policy.policy import Policy, frozen_copy, load_policy, parameters_of, set_parameters
from selfplay_melee.observation import ENCODER_VERSION
from tests.policy.networks import HEADS, SPEC, network, policy_meta

OBS = np.random.default_rng(0).normal(size=(40, SPEC.obs_width)).astype(np.float32)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def save(path, seed=0, **changes):
    built = network(seed)
    save_policy(path, policy_meta(7, **changes), parameters_of(built))
    return built


def test_a_policy_plays_the_same_after_export_and_loading(tmp_path):
    built = save(tmp_path / "gen_7")
    loaded = load_policy(tmp_path / "gen_7")
    original = Policy(policy_meta(7), built)
    for greedy in (False, True):
        actions = [policy.act(OBS, seeded(3), greedy=greedy) for policy in (original, loaded)]
        np.testing.assert_array_equal(*actions)
        assert actions[0].dtype == np.int8
        assert actions[0].shape == (40, 5)
    with torch.inference_mode():
        outputs = [net(torch.from_numpy(OBS)) for net in (built, loaded.network)]
    assert all(torch.equal(a, b) for a, b in zip(*outputs, strict=True))


def test_a_loaded_policy_knows_its_file_and_cannot_learn_by_accident(tmp_path):
    save(tmp_path / "mine", frame_skip=3, delay=1)
    policy = load_policy(str(tmp_path / "mine"))
    assert (policy.body.frame_skip, policy.body.delay, policy.meta.id) == (3, 1, "gen_7")
    assert policy.meta.weights_hash == load_checkpoint(tmp_path / "mine").meta.weights_hash
    assert not any(parameter.requires_grad for parameter in policy.network.parameters())
    assert not policy.network.training


def test_a_run_gives_its_newest_generation(tmp_path):
    for iteration in (0, 12, 3):
        meta = policy_meta(iteration)
        save_policy(tmp_path / "generations" / meta.id, meta, parameters_of(network(iteration)))
    assert load_policy(tmp_path).meta.id == "gen_12"


def test_a_game_of_a_package_that_is_gone_is_named(tmp_path):
    """Not the versions of observations, which are another game's."""
    save(tmp_path / "gen_7", game="chase", encoder_version=3)
    with pytest.raises(IncompatibleError, match=r"^the game 'chase' is not known here; .*group selfplay\.games"):
        load_policy(tmp_path / "gen_7")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"frame_skip": 0}, "frame_skip and max_episode_frames are at least 1"),
        ({"delay": "soon"}, r"delay: .* integer"),
        ({"stage": "../x"}, "no name of a character or a stage"),
        ({"game": "kuhn", "body": {"delay": 0}}, "delay: Unexpected keyword argument"),
        ({"body": {}}, r"character: Field required \(and 6 more\)"),
    ],
)
def test_a_file_with_a_body_that_the_game_does_not_have_is_refused(tmp_path, changes, words):
    save(tmp_path / "gen_7", encoder_version=1 if "game" in changes else ENCODER_VERSION, **changes)
    with pytest.raises(IncompatibleError, match=rf"^gen_7: its file does not say what a policy of .* needs: .*{words}"):
        load_policy(tmp_path / "gen_7")


def test_nothing_there(tmp_path):
    with pytest.raises(NotARunError, match="holds no policy"):
        load_policy(tmp_path / "none")


@pytest.mark.parametrize(
    "change",
    [
        {"network": SPEC.model_copy(update={"hidden": (8,)})},
        {"network": SPEC.model_copy(update={"hidden": (8, 9)})},
        {"network": SPEC.model_copy(update={"obs_width": 5})},
        {"actions": ActionHeads(binary=1, sizes=HEADS.sizes)},
        {"network": SPEC.model_copy(update={"kind": "transformer"})},
    ],
    ids=["fewer layers", "other widths", "other observations", "other actions", "unknown kind"],
)
def test_weights_that_do_not_fit_the_description_are_a_clear_error(tmp_path, change):
    save(tmp_path / "odd", **change)
    with pytest.raises(IncompatibleError, match=r"weights do not fit|is unknown"):
        load_policy(tmp_path / "odd")


def test_a_policy_for_other_observations_is_refused(tmp_path):
    save(tmp_path / "old", encoder_version=ENCODER_VERSION + 1)
    with pytest.raises(IncompatibleError, match=f"old was made for observations of version {ENCODER_VERSION + 1}"):
        load_policy(tmp_path / "old")


def test_parameters_are_copies_in_both_directions():
    built = network()
    arrays = parameters_of(built)
    arrays["out.bias"][:] = 9
    assert not bool((built.out.bias == 9).any())
    set_parameters(built, arrays)
    arrays["out.bias"][:] = 5
    assert bool((built.out.bias == 9).all())


def test_a_frozen_copy_does_not_learn_along():
    built = network()
    frozen = frozen_copy(built)
    before = parameters_of(frozen)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter += 1
    assert all((before[name] == array).all() for name, array in parameters_of(frozen).items())
    assert not any(parameter.requires_grad for parameter in frozen.parameters())
    assert all(parameter.requires_grad for parameter in built.parameters())


def test_what_stands_still_stands_still_by_all_of_its_names():
    """As the embedding below an adapter, which is a model's output, too."""
    ends = torch.nn.ModuleDict({"embedding": torch.nn.Embedding(3, 2), "head": torch.nn.Linear(2, 3, bias=False)})
    ends["head"].weight = ends["embedding"].weight
    ends.requires_grad_(requires_grad=False)
    ends["adapter"] = torch.nn.Linear(2, 2)
    assert set(parameters_of(ends, trainable=True)) == {"adapter.weight", "adapter.bias"}
    set_parameters(ends, parameters_of(ends, trainable=True))


def test_nobody_to_decide_for():
    policy = Policy(policy_meta(7), network(0))
    assert policy.act(OBS[:0], seeded()).shape == (0, 5)


@pytest.mark.parametrize(
    ("obs", "got"),
    [
        (OBS[0], f"float32 of shape {(SPEC.obs_width,)}"),
        (OBS[:, :-1], f"float32 of shape {(40, SPEC.obs_width - 1)}"),
        (OBS[None], f"float32 of shape {(1, 40, SPEC.obs_width)}"),
        (OBS.astype(np.float64), f"float64 of shape {OBS.shape}"),
        (OBS.astype(object), f"object of shape {OBS.shape}"),
        (OBS.tolist(), "list"),
        (torch.from_numpy(OBS), "Tensor"),
    ],
)
@pytest.mark.parametrize("ask", [Policy.act, Policy.probabilities, Policy.value])
def test_observations_of_another_shape_or_type_are_named(obs, got, ask):
    with pytest.raises(ValueError, match=re.escape(f"obs must be float32 of shape [N, {SPEC.obs_width}], got {got}")):
        ask(Policy(policy_meta(7), network()), obs)


def test_masks_and_numbers_of_another_shape_or_type_are_named():
    policy = Policy(policy_meta(7), network())
    logits = policy.network.heads.logits
    with pytest.raises(
        ValueError, match=re.escape(f"legal must be bool of shape [40, {logits}], got float32 of shape")
    ):
        policy.act(OBS, legal=np.ones((40, logits), np.float32))
    with pytest.raises(
        ValueError, match=re.escape(f"legal must be bool of shape [40, {logits}], got bool of shape (1, ")
    ):
        policy.probabilities(OBS, np.ones((1, logits), np.bool_))
    with pytest.raises(ValueError, match=re.escape("uniform must be float32 of shape [40, 5], got float64 of shape")):
        policy.act(OBS, uniform=np.zeros((40, 5)))
