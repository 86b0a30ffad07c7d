"""Weights go to other trainers; the program that needs no trainer of others trains."""

import json
import sys

import numpy as np
import pytest
import torch
from torch import nn

from scripts.studies.rivals.jobs import job_of, session_of, write_first_weights
from scripts.studies.rivals.programs import single_file
from scripts.studies.rivals.programs.job import as_argument, asked
from scripts.studies.rivals.programs.weights import CLASSES, LOGITS, Layers, dense, linear
from selfplay.checkpoint import ActionHeads, NetworkSpec
from selfplay.policy.heads import logprob_entropy
from selfplay.policy.network import build_network
from selfplay.policy.policy import parameters_of
from selfplay.ppo.session import Session
from selfplay_melee.controller import ACTION_SPEC

WIDTH, HIDDEN = 12, (8, 6)


def ours():
    spec = NetworkSpec(obs_width=WIDTH, hidden=HIDDEN)
    heads = ActionHeads(binary=ACTION_SPEC.binary, sizes=ACTION_SPEC.sizes)
    network = build_network(spec, heads, torch.Generator().manual_seed(3), ACTION_SPEC.rest)
    with torch.no_grad():
        network.out.weight[:-1] *= 30.0  # opinions
    return network


def theirs():
    trunk = dense(WIDTH, HIDDEN)
    return trunk, Layers(linear(trunk), nn.Linear(HIDDEN[-1], LOGITS), nn.Linear(HIDDEN[-1], 1))


def test_the_same_policy_on_both_sides(tmp_path):
    network, (trunk, layers) = ours(), theirs()
    np.savez(tmp_path / "w.npz", **parameters_of(network))
    layers.read(str(tmp_path / "w.npz"))
    obs = torch.randn(5, WIDTH)
    action = torch.stack([torch.randint(size, (5,)) for size in CLASSES], 1)
    logits, value = network(obs)
    expected, _ = logprob_entropy(network.heads, logits, action.to(torch.int8))
    features = trunk(obs)
    parts = torch.split(layers.actor(features), list(CLASSES), 1)
    found = sum(torch.log_softmax(part, 1).gather(1, action[:, [i]])[:, 0] for i, part in enumerate(parts))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(layers.critic(features)[:, 0], value)


def tiny(**changes):
    session = session_of(2)
    config = session.config
    ppo = config.ppo.model_copy(update={"rollout_length": 8, "batch_size": 16, "epochs": 2})
    return Session(config.model_copy(update={"ppo": ppo}), session.run, "cpu")


@pytest.mark.parametrize("seats", [1, 2])
def test_the_single_file_trains(seats, tmp_path, monkeypatch, capsys):
    session, first = tiny(), tmp_path / "first.npz"
    write_first_weights(session, first)
    job = job_of(session, first, seats=seats, threads=1, iterations=2, variant="")
    assert (job.streams, job.rows, job.minibatch) == (2 * seats, 16 * seats, 16)
    monkeypatch.setattr(sys, "argv", ["program", as_argument(job)])
    assert asked() == job
    single_file.main()
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(answer["seconds"]) == 2
    assert min(answer["seconds"]) > 0.0


def test_the_single_file_changes_all_layers(tmp_path):
    session, first = tiny(), tmp_path / "first.npz"
    write_first_weights(session, first)
    training = single_file.Training(job_of(session, first, seats=2, threads=1, iterations=1, variant=""))
    training.layers.read(str(first))
    layers = (*training.layers.trunk, training.layers.actor, training.layers.critic)
    before = [layer.weight.detach().clone() for layer in layers]
    training.collect()
    training.update()
    assert all((layer.weight != old).any() for layer, old in zip(layers, before, strict=True))
