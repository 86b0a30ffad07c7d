"""Tiny runs of the trainer in this process, each made as the command line makes it; and what is left of them."""

import io
import json
from dataclasses import replace

import numpy as np

from selfplay.checkpoint import RunDir, list_generations, load_latest_learner
from selfplay.checkpoint.generations import read_policy_meta
from selfplay.cli.ppo import parse
from selfplay.ppo.train import train as train_ppo

GAMES, STEPS, CAP = 4, 64, 120
ITERATION = GAMES * STEPS  # steps of one
_ANY = (
    *("--num-games", GAMES, "--rollout-length", STEPS),
    *("--mode", "simple_mix", "--hidden", "8", "--ppo-epochs", "2", "--batch-size", "128", "--set", "run.threads=2"),
)
TINY = (*_ANY, "--max-episode-frames", CAP)
MATRIX = (*_ANY, "--game-type", "rps")  # where it does not matter what is played: a process of it starts soon
KEPT = ("--set", "run.keep_checkpoints=1", "--set", "run.keep_every=4", "--set", "run.keep_best=true", "--track-elo")
WALL = ("wall", "time/", "charts/steps_per_s", "runners/tasks", "memory/cuda")


def train(folder, *arguments, resume=False, size=TINY):
    """Train in ``folder``; the exit code and what a person sees. A new run has the flags of ``size``, too."""
    invocation = parse([str(a) for a in ("--checkpoint", folder, *(("--resume",) if resume else size), *arguments)])
    stream = io.StringIO()
    return train_ppo(replace(invocation, notice=None), stream), stream.getvalue()


def hashes(folder):
    """Hash of the weights of each generation."""
    return {g.id: read_policy_meta(g.path).weights_hash for g in list_generations(RunDir(folder))}


def rows(path):
    """A file of JSON lines, without what depends on the clock or on the memory of a device."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in row.items() if not key.startswith(WALL)} for row in found]


def assert_equal_runs(one, other, *, generations):
    """Bit for bit, but for the clock: weights, learner, games, matchmaker, ledger and metrics."""
    one_hashes, other_hashes = hashes(one), hashes(other)
    assert [one_hashes[name] for name in generations] == [other_hashes[name] for name in generations]
    first, second = (load_latest_learner(RunDir(folder)) for folder in (one, other))
    for field in ("iteration", "total_steps", "matchmaker", "opponents", "generations", "ledger_position"):
        assert (field, getattr(first.meta, field)) == (field, getattr(second.meta, field))
    assert first.arrays.keys() == second.arrays.keys()
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, second.arrays[name], err_msg=name)
    assert rows(one / "metrics.jsonl") == rows(other / "metrics.jsonl")
    assert (one / "ledger.jsonl").exists() == (other / "ledger.jsonl").exists()
    if (one / "ledger.jsonl").exists():
        assert rows(one / "ledger.jsonl") == rows(other / "ledger.jsonl")
