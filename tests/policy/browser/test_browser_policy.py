"""Policies in JavaScript, run by node, against those of torch and of compiled Python."""

import json
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch

from selfplay import load_policy
from selfplay.checkpoint import ActionHeads, NetworkSpec
from selfplay.errors import ConfigError
from selfplay.policy import browser
from selfplay.policy.browser.weights import SCRIPTS, browser_policy
from selfplay.policy.heads import Heads, sample
from selfplay.policy.network import ACTIVATIONS
from selfplay.policy.policy import Policy
from selfplay.policy.recurrent_state import RecurrentState
from selfplay.runner.counter_rng import uniforms
from selfplay_melee.controller import ACTION_SPEC
from selfplay_melee.mock import MockMelee, neutral_actions
from selfplay_melee.observation import OBS_WIDTH
from tests.policy.networks import network, policy_meta
from tests.support.node import gather, needs_node, run_node

MODULES = [Path(browser.__file__).parent / name for name in SCRIPTS]
HERE = Path(__file__).parent
CONTROLLER = ActionHeads(binary=ACTION_SPEC.binary, sizes=ACTION_SPEC.sizes)
SMALL = ActionHeads(binary=1, sizes=(3, 5, 5, 2))
SEATS, DECISIONS, EPISODE, SKIP = 32, 250, 100, 4


def policy(kind="mlp", hidden=(8, 8), heads=SMALL, obs_width=7, activation="tanh"):
    """A policy with random weights and biases everywhere."""
    spec = NetworkSpec(kind=kind, obs_width=obs_width, hidden=hidden, activation=activation)
    made = network(3, spec=spec, heads=heads)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=generator)
    return Policy(policy_meta(network=spec, actions=heads), made.requires_grad_(requires_grad=False).eval())


def keys_of(*shape):
    return np.random.default_rng(5).integers(0, 2**64, shape, np.uint64)


def recorded(played, opponent=None):
    """Games of a policy with itself, or in seat 0 with a scripted player.

    Observations [T, N, D], outputs [T, N, L + 1], actions [T, N, A], keys [E, N].
    """
    own = 2 if opponent is None else 1  # seats of a game
    game = MockMelee(SEATS // own, characters=("mewtwo", "fox"), frame_skip=SKIP)
    if opponent is not None:
        game.bots[:, 1] = game.bot_names.index(opponent)
    obs, memory = game.reset(np.arange(game.num_games)), RecurrentState(SEATS)
    keys, pressed = keys_of(-(-DECISIONS // EPISODE), SEATS), neutral_actions(game.num_games)
    seen, outputs, actions = [], [], []
    for t in range(DECISIONS):
        if t % EPISODE == 0:
            memory.forget(range(SEATS))
        flat = torch.from_numpy(obs[:, :own].reshape(SEATS, -1).copy())
        with torch.inference_mode():
            logits, value = memory.step(played.network, flat, slice(None))
        drawn = torch.from_numpy(uniforms(keys[t // EPISODE], t % EPISODE, played.network.heads.width))
        seen.append(flat)
        outputs.append(torch.cat([logits, value[:, None]], 1))
        actions.append(sample(played.network.heads, logits, None, uniform=drawn)[0])
        pressed[:, :own] = actions[-1].numpy().reshape(game.num_games, own, -1)
        obs = game.step(pressed).obs
    return (*(torch.stack(rows).numpy() for rows in (seen, outputs, actions)), keys)


def play(folder, played, obs, keys, episode=EPISODE):
    """What node makes of the observations: outputs and actions."""
    script = gather(folder, *MODULES, HERE / "play.js")
    data = browser_policy(played)
    (folder / "weights").write_bytes(data.weights)
    obs.tofile(folder / "obs")
    keys.tofile(folder / "keys")
    about = {"description": data.description, "seats": obs.shape[1], "decisions": len(obs), "episode": episode}
    (folder / "about.json").write_text(json.dumps(about))
    run_node(script, folder)
    heads = played.network.heads
    outputs = np.fromfile(folder / "outputs", np.float32).reshape(*obs.shape[:2], heads.logits + 1)
    actions = np.fromfile(folder / "actions", np.int8).reshape(*obs.shape[:2], heads.width)
    return outputs, actions


@needs_node
@pytest.mark.parametrize(
    ("kind", "hidden"),
    [
        ("mlp", (128, 128)),
        *(
            pytest.param(kind, hidden, marks=pytest.mark.full)
            for kind in ("gru", "lstm")
            for hidden in ((128, 128), (96, 96, 96))
        ),
    ],
)
def test_recorded_decisions_are_those_of_torch(tmp_path, kind, hidden):
    played = policy(kind, hidden, CONTROLLER, OBS_WIDTH)
    obs, expected, actions, keys = recorded(played)
    outputs, chosen = play(tmp_path, played, obs, keys)
    assert obs[..., 0].size == 8000
    assert np.ptp(expected) > 1
    assert np.abs(outputs - expected).max() < 1e-5
    assert (chosen != actions).any(-1).sum() <= 8  # where a number is within rounding of the border between two classes


@needs_node
def test_recorded_decisions_of_a_trained_policy_are_those_of_torch(tmp_path):
    played = load_policy("strong")
    obs, expected, actions, keys = recorded(played, "counter_hitter")
    outputs, chosen = play(tmp_path, played, obs, keys)
    assert obs[..., 0].size == 8000
    with torch.inference_mode():
        exact = deepcopy(played.network).double()(torch.from_numpy(obs).double())
    assert np.abs(outputs[..., :-1] - exact[0].numpy()).max() < 1e-5
    assert np.abs(outputs[..., -1] - expected[..., -1]).max() < 1e-5
    # Its logits reach 30, where the sums of torch, in 32 bits, are off by 1.5e-5.
    np.testing.assert_allclose(outputs, expected, rtol=1e-6, atol=1e-5)
    np.testing.assert_array_equal(chosen, actions)


@needs_node
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("kind", "hidden"), [("mlp", ()), ("mlp", (9,)), ("mlp", (6, 11, 5)), ("gru", (8, 8, 8, 8))])
def test_networks_of_any_depth_and_activation(tmp_path, kind, hidden, activation):
    played = policy(kind, hidden, activation=activation)
    obs, keys = np.random.default_rng(0).normal(0, 2, (30, 4, 7)).astype(np.float32), keys_of(3, 4)
    memory, expected = RecurrentState(4), []
    for t, row in enumerate(torch.from_numpy(obs)):
        if t % 10 == 0:
            memory.forget(range(4))
        logits, value = memory.step(played.network, row, slice(None))
        expected.append(torch.cat([logits, value[:, None]], 1))
    outputs, _ = play(tmp_path, played, obs, keys, episode=10)
    np.testing.assert_allclose(outputs, torch.stack(expected).numpy(), atol=1e-5)


@needs_node
@pytest.mark.parametrize("spec", [CONTROLLER, SMALL, ActionHeads(binary=3, sizes=())], ids=str)
def test_draws_are_those_of_compiled_python(tmp_path, spec):
    heads, rows, generator = Heads(spec.binary, spec.sizes), 8000, np.random.default_rng(1)
    scale = generator.choice([0.1, 2, 30, 200], (rows, 1))
    logits = (scale * generator.normal(size=(rows, heads.logits))).astype(np.float32)
    legal = generator.random((rows, heads.logits)) < 0.7
    first = heads.binary
    for size in heads.sizes:  # of each categorical one class at least
        legal[np.arange(rows), first + generator.integers(0, size, rows)] = True
        first += size
    keys, decisions = keys_of(rows), generator.integers(0, 30_000, rows).astype(np.uint32)
    ways = [{"temperature": t, "masked": masked} for t in (1, 0.3, 1.7, 0) for masked in (False, True)]
    script = gather(tmp_path, *MODULES, HERE / "draw.js")
    for name, array in {"logits": logits, "legal": legal, "keys": keys, "decisions": decisions}.items():
        array.tofile(tmp_path / name)
    about = {"heads": {"binary": heads.binary, "sizes": heads.sizes}, "ways": ways, "rows": rows}
    (tmp_path / "about.json").write_text(json.dumps(about))
    run_node(script, tmp_path)
    numbers = np.fromfile(tmp_path / "numbers", np.float32).reshape(rows, heads.width)
    rows_of = zip(keys[:, None], decisions, strict=True)
    expected = np.concatenate([uniforms(key, int(decision), heads.width) for key, decision in rows_of])
    np.testing.assert_array_equal(numbers, expected)
    actions = np.fromfile(tmp_path / "actions", np.int8).reshape(len(ways), rows, heads.width)
    for found, way in zip(actions, ways, strict=True):
        cooled = torch.from_numpy(logits / np.float32(way["temperature"] or 1))
        mask = torch.from_numpy(legal) if way["masked"] else None
        drawn, _ = sample(heads, cooled, None, mask, greedy=not way["temperature"], uniform=torch.from_numpy(numbers))
        np.testing.assert_array_equal(found, drawn.numpy(), str(way))


@needs_node
def test_weights_of_other_layers_are_refused(tmp_path):
    gather(tmp_path, *MODULES)
    check = tmp_path / "check.js"
    check.write_text(
        "import { Network } from './network.js';\n"
        "const layers = [{ kind: 'dense', inputs: 3, outputs: 2, activation: 'none' }];\n"
        "for (const count of [7, 8, 9]) {\n"
        "  try { new Network(layers, new Float32Array(count)); console.log('fits'); }\n"
        "  catch (error) { console.log(error.message); }\n"
        "}\n"
    )
    assert run_node(check).splitlines() == [
        "the weights end after 7 numbers", "fits", "the layers have 8 weights, but there are 9",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["mamba", "attention"])
def test_other_backbones_are_refused(kind):
    with pytest.raises(ConfigError, match=f"gen_0 is a policy of kind {kind}, which plays .* only through a server"):
        browser_policy(policy(kind, (8, 8)))


def test_the_description_is_made_from_the_policy():
    made = browser_policy(policy("lstm", (8, 8)))
    about = json.loads(json.dumps(made.description))
    assert about["heads"] == {"binary": 1, "sizes": [3, 5, 5, 2]}
    assert [layer["kind"] for layer in about["layers"]] == ["dense", "lstm", "dense"]
    assert (about["obs_width"], about["frame_skip"]) == (7, 4)
    numbers = (7 + 1) * 8 + 2 * 8 + 2 * (8 + 1) * 32 + (8 + 1) * (1 + 15 + 1)
    assert len(made.weights) == 4 * numbers
