"""A path of the user is turned into the policy folder that is meant, or into the one to type instead."""

import os

import pytest

from selfplay.checkpoint import RunDir, find_policies, load_checkpoint, resolve_policy, save_policy
from selfplay.errors import ConfigError, NotARunError
from tests.checkpoint.samples import NETWORK, params, policy_meta, same, save_generation


@pytest.fixture
def root(tmp_path):
    """Two runs and an imitation policy; the second run is the newest."""
    root = tmp_path / "checkpoints"
    saved = [save_policy(root / "imitation_policy", policy_meta(0, id="imitation"), params())]
    for name in ("self_play", "self_play-2"):
        saved += [save_generation(RunDir(root / name), policy_meta(i), params(i)) for i in (0, 9, 10)]
    for age, path in enumerate(saved):
        os.utime(path / "MANIFEST.json", (age, age))
    return root


def test_a_policy_folder_is_itself_and_a_run_its_newest_generation(root):
    generations = root / "self_play" / "generations"
    assert resolve_policy(root / "imitation_policy", root) == root / "imitation_policy"
    assert resolve_policy(generations / "gen_9", root) == generations / "gen_9"
    assert resolve_policy(root / "self_play", root) == generations / "gen_10"
    assert resolve_policy(generations, root) == generations / "gen_10"


def test_a_folder_of_imitation_is_its_best_policy_and_a_run_stays_a_run(root):
    for name in (
        "imitation_latest_policy",
        "imitation_best_policy",
        "imitation/latest_policy",
        "imitation/best_policy",
    ):
        save_policy(root / name, policy_meta(0, id="imitation_best"), params())
        save_policy(root / "self_play" / name, policy_meta(0, id="imitation_best"), params())
    assert resolve_policy(root, root) == root / "imitation_best_policy"
    assert resolve_policy(root / "imitation", root) == root / "imitation" / "best_policy"
    assert resolve_policy(root / "self_play", root) == root / "self_play" / "generations" / "gen_10"
    (root / "imitation_best_policy" / "MANIFEST.json").unlink()
    with pytest.raises(NotARunError, match="holds no policy"):
        resolve_policy(root, root)


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("imitation_policy.bin", "imitation_policy"),
        ("imitation_latest_policy.bin", "imitation_policy"),
        ("self_play.axon", "self_play/generations/gen_10"),
        ("self_play-2.AXON", "self_play-2/generations/gen_10"),
    ],
)
def test_files_of_the_predecessor_name_the_nearest_policy(root, path, nearest):
    for exists in (False, True):
        if exists:
            (root / path).write_bytes(b"\x83")
        with pytest.raises(ConfigError, match=f"predecessor.*the nearest policy folder is {root / nearest}$") as caught:
            resolve_policy(root / path, root)
        assert caught.value.exit_code == 2


def test_without_any_policy_it_says_how_to_make_one(tmp_path):
    with pytest.raises(ConfigError, match=r"no policy folder below .* selfplay train makes them"):
        resolve_policy(tmp_path / "x.bin", tmp_path)


def test_a_wrong_path_names_the_nearest_policy(root):
    with pytest.raises(
        NotARunError, match=r"self_pay holds no policy; the nearest .*self_play/generations/gen_10"
    ) as caught:
        resolve_policy(root / "self_pay", root)
    assert caught.value.exit_code == 2
    (root / "empty").mkdir()
    with pytest.raises(NotARunError, match="empty holds no policy"):
        resolve_policy(root / "empty", root)


def test_policies_are_found_newest_first(root):
    found = [str(path.relative_to(root)) for path in find_policies(root)]
    assert found[0] == "self_play-2/generations/gen_10"
    assert found[-1] == "imitation_policy"
    assert len(found) == 7


def test_the_fields_of_the_guide(root):
    checkpoint = load_checkpoint(root / "self_play")
    assert same(checkpoint.params, params(10))
    assert checkpoint.model == NETWORK
    assert (checkpoint.iteration, checkpoint.total_steps) == (10, 10240)
    assert checkpoint.config == {"ppo": {"gamma": 0.99}}
    assert checkpoint.meta.id == "gen_10"
    assert load_checkpoint(str(checkpoint.path)).meta == checkpoint.meta
