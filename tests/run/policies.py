"""Saved policies with made-up weights."""

from datetime import UTC, datetime

import torch

from selfplay.checkpoint import ActionHeads, NetworkSpec, PolicyMeta, create_run, save_policy
from selfplay.games.plugins import allow
from selfplay.games.registry import find_game
from selfplay.policy.network import build_network
from selfplay.policy.policy import parameters_of
from selfplay_melee.controller import ACTION_SPEC
from selfplay_melee.observation import ENCODER_VERSION, OBS_WIDTH
from tests.checkpoint.samples import save_generation
from tests.support.fight_policies import meta_fields

SPEC = NetworkSpec(obs_width=OBS_WIDTH, hidden=(8,))
HEADS = ActionHeads(binary=ACTION_SPEC.binary, sizes=ACTION_SPEC.sizes)


def save_imitation(folder, kind="mlp", window=5, **changes):
    """A policy folder as imitation leaves it: of that backbone, with a critic that knows nothing."""
    options = {"window": window} if kind == "attention" else {}
    spec = NetworkSpec(kind=kind, obs_width=OBS_WIDTH, hidden=(16, 16), options=options)
    fields = {
        "frame_skip": 3,
        "delay": 2,
        "character": "fox",
        "stage": "battlefield",
        "encoder_version": ENCODER_VERSION,
    } | changes
    meta = PolicyMeta(
        id="imitation",
        network=spec,
        actions=HEADS,
        created=datetime(2026, 1, 1, tzinfo=UTC),
        config={"imitation": {}},
        **meta_fields(**fields),
    )
    network = build_network(spec, HEADS, torch.Generator().manual_seed(1))
    with torch.no_grad():
        network.out.weight[:-1] *= 30.0  # opinions
    return save_policy(folder, meta, parameters_of(network))


def save(folder, *iterations, spec=SPEC, heads=HEADS, **changes):
    """A run with these generations, each with weights of its own."""
    run = create_run(folder)
    run.write_run({})
    for iteration in iterations:
        fields = {
            "character": "fox",
            "stage": "battlefield",
            "max_episode_frames": 120,
            "encoder_version": ENCODER_VERSION,
        } | changes
        meta = PolicyMeta(
            id=f"gen_{iteration}",
            iteration=iteration,
            network=spec,
            actions=heads,
            created=datetime(2026, 1, 1, tzinfo=UTC),
            **meta_fields(**fields),
        )
        generator = torch.Generator().manual_seed(iteration)
        save_generation(run, meta, parameters_of(build_network(spec, heads, generator)))
    return run


def save_other(folder, game, kind="mlp"):
    """The folder of a run of a game that is no fight, with one generation."""
    allow(game)
    entry = find_game(game)
    spec = NetworkSpec(kind=kind, obs_width=entry.obs_width, hidden=(16, 16))
    heads = ActionHeads(binary=0, sizes=entry.actions.sizes)
    return save(folder, 3, spec=spec, heads=heads, game=game, encoder_version=entry.encoder_version).path
