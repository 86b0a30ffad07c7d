from datetime import UTC, datetime
from functools import partial

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env, data_equivalence

from selfplay.checkpoint import ActionHeads, NetworkSpec, PolicyMeta, save_policy
from selfplay.errors import CheckpointError, IncompatibleError
from selfplay.games.errors import GameError
from selfplay.policy.backbones import LAYERS
from selfplay.policy.network import KINDS, build_network
from selfplay.policy.policy import parameters_of
from selfplay_melee.controller import ACTION_SPEC, NEUTRAL
from selfplay_melee.gym import ENV_ID, MockMeleeEnv, MockMeleeVectorEnv
from selfplay_melee.observation import ENCODER_VERSION, OBS_WIDTH
from selfplay_melee.opponents import name_of
from selfplay_melee.policy_opponent import load_opponent
from tests.support.fight_policies import meta_fields

pytestmark = pytest.mark.usefixtures("compiled_rules")


OPTIONS = {"attention": {"window": 5}}
GAMES = np.arange(64)


def save(folder, kind="mlp", **changes):
    fields = {
        "id": "gen_0",
        "network": NetworkSpec(kind=kind, obs_width=OBS_WIDTH, hidden=(8, 8), options=OPTIONS.get(kind, {})),
        "actions": ActionHeads(binary=ACTION_SPEC.binary, sizes=ACTION_SPEC.sizes),
        "encoder_version": ENCODER_VERSION,
        "frame_skip": 3,
        "delay": 2,
        "created": datetime(2026, 1, 2, tzinfo=UTC),
    }
    meta = PolicyMeta(**meta_fields(**fields | changes))
    network = build_network(meta.network, meta.actions, torch.Generator().manual_seed(0))
    with torch.no_grad():
        network.out.weight[:-1] *= 100.0  # opinions
    return save_policy(folder, meta, parameters_of(network))


def play(env, steps=50):
    """Observations of a seat that does nothing, and how many episodes ended."""
    trace, episodes = [env.reset(seed=1)[0]], 0
    for _ in range(steps):
        obs, _, terminated, truncated, _ = env.step(np.tile(NEUTRAL, (*env.action_space.shape[:-1], 1)))
        ended = np.logical_or(terminated, truncated)
        episodes += int(ended.sum())
        trace.append(env.reset()[0] if isinstance(env, MockMeleeEnv) and ended else obs)
    return trace, episodes


@pytest.mark.parametrize("as_text", [True, False])
def test_a_policy_sits_in_the_other_seat(tmp_path, as_text):
    folder = save(tmp_path / "policy")
    player = load_opponent(str(folder) if as_text else folder)
    assert name_of(player) == "policy"
    env = gymnasium.make(ENV_ID, opponent=player).unwrapped
    check_env(env, skip_render_check=True)
    assert len(np.unique(play(env)[0], axis=0)) > 40  # it plays


@pytest.mark.parametrize("kind", KINDS)
def test_it_repeats_itself_with_the_seed_of_the_environment(tmp_path, kind):
    folder = save(tmp_path / "policy", kind)
    for make in (MockMeleeEnv, partial(MockMeleeVectorEnv, 2)):
        env = make(load_opponent(folder), max_episode_frames=20)
        first, episodes = play(env)
        assert episodes >= 2
        assert data_equivalence(first, play(env)[0], exact=True)
        assert data_equivalence(first, play(make(load_opponent(folder), max_episode_frames=20))[0], exact=True)


@pytest.mark.parametrize("kind", LAYERS)
def test_an_episode_begins_with_an_empty_memory(tmp_path, kind):
    player = load_opponent(save(tmp_path / "policy", kind))
    seen = np.random.default_rng(0).normal(size=(4, len(GAMES), OBS_WIDTH)).astype(np.float32)

    def decide(obs):
        player.start(7)
        return player.act(obs, GAMES)

    fresh = decide(seen[0])
    for obs in seen[1:]:
        decide(obs)
    player.forget(GAMES[::2])
    later = decide(seen[0])
    np.testing.assert_array_equal(later[::2], fresh[::2])
    assert (later[1::2] != fresh[1::2]).any()


def test_it_plays_at_its_own_frame_skip_and_delay(tmp_path):
    player = load_opponent(save(tmp_path / "policy"))
    assert (player.frame_skip, player.delay) == (3, 2)
    assert player.act(np.zeros((4, OBS_WIDTH), np.float32), np.arange(4)).shape == (4, ACTION_SPEC.width)


def test_observations_of_another_version_are_refused(tmp_path):
    folder = save(tmp_path / "policy", encoder_version=ENCODER_VERSION + 1)
    with pytest.raises(IncompatibleError, match=f"version {ENCODER_VERSION + 1}, here is {ENCODER_VERSION}"):
        load_opponent(folder)


def test_a_folder_without_a_policy_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="nothing_here"):
        load_opponent(tmp_path / "nothing_here")


def test_the_path_of_a_policy_is_refused_with_the_call_that_loads_it(tmp_path):
    for path in (tmp_path, str(tmp_path)):
        with pytest.raises(GameError, match=rf"give opponent=selfplay_melee\.policy_opponent\.load_opponent\('{path}'"):
            MockMeleeEnv(path)
