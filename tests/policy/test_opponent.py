from datetime import UTC, datetime

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence

from envs.gym import MockMeleeEnv, MockMeleeVectorEnv
from envs.melee.controller import ACTION_SPEC, NEUTRAL
from envs.melee.observation import ENCODER_VERSION, OBS_WIDTH
from selfplay.checkpoint import ActionHeads, NetworkSpec, PolicyMeta, save_policy
from selfplay.errors import CheckpointError, IncompatibleError
from selfplay.policy.network import build_network
from selfplay.policy.opponent import load_opponent
from selfplay.policy.policy import parameters_of

pytestmark = pytest.mark.usefixtures("compiled_rules")


def save(folder, **changes):
    fields = {
        "id": "gen_0",
        "network": NetworkSpec(obs_width=OBS_WIDTH, hidden=(8,)),
        "actions": ActionHeads(binary=ACTION_SPEC.binary, sizes=ACTION_SPEC.sizes),
        "encoder_version": ENCODER_VERSION,
        "frame_skip": 3,
        "delay": 2,
        "characters": ("mewtwo",),
        "stage": "final_destination",
        "created": datetime(2026, 1, 2, tzinfo=UTC),
    }
    meta = PolicyMeta(**fields | changes)
    return save_policy(folder, meta, parameters_of(build_network(meta.network, meta.actions)))


def play(env, steps=50):
    trace = [env.reset(seed=1)[0]]
    trace += [env.step(np.tile(NEUTRAL, (*env.action_space.shape[:-1], 1)))[0] for _ in range(steps)]
    return trace


@pytest.mark.parametrize("as_text", [True, False])
def test_a_policy_folder_sits_in_the_other_seat(tmp_path, as_text):
    folder = save(tmp_path / "policy")
    env = gymnasium.make("MockMelee-v0", opponent=str(folder) if as_text else folder).unwrapped
    check_env(env)
    assert len(np.unique(play(env), axis=0)) > 40  # it plays


def test_it_repeats_itself_with_the_seed_of_the_environment(tmp_path):
    folder = save(tmp_path / "policy")
    env = MockMeleeEnv(folder)
    assert data_equivalence(play(env), play(env), exact=True)
    assert data_equivalence(play(env), play(MockMeleeEnv(folder)), exact=True)
    block = MockMeleeVectorEnv(2, folder)
    assert data_equivalence(play(block), play(block), exact=True)


def test_it_plays_at_its_own_frame_skip_and_delay(tmp_path):
    player = load_opponent(save(tmp_path / "policy"))
    assert (player.frame_skip, player.delay) == (3, 2)
    assert player.act(np.zeros((4, OBS_WIDTH), np.float32), np.arange(4)).shape == (4, ACTION_SPEC.width)


def test_observations_of_another_version_are_refused(tmp_path):
    folder = save(tmp_path / "policy", encoder_version=ENCODER_VERSION + 1)
    with pytest.raises(IncompatibleError, match=f"version {ENCODER_VERSION + 1}, here is {ENCODER_VERSION}"):
        MockMeleeEnv(folder)


def test_a_folder_without_a_policy_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="nothing_here"):
        MockMeleeEnv(str(tmp_path / "nothing_here"))
