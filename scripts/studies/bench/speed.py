"""The main benchmark: the loop at one fixed configuration, and the bounds that its matrix products set.

The bounds have the row counts of the loop: one forward of 2 x games rows a step, and minibatches in the update. All
parts use the threads of the loop: one runner a core in the rollout, one chunk of a minibatch a core in the update.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from scripts.studies.bench.latency import latencies
from scripts.studies.bench.replays import frames_per_second, imitated_frames_per_second, write_games
from scripts.studies.pages import Figures, measured_here
from selfplay.config.ppo import Config
from selfplay_melee.controller import HIGHEST, decode
from selfplay_melee.mock import MockMelee
from selfplay_melee.observation import OBS_WIDTH
from selfplay_melee.state import CONTROLLER, records

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic

GAMES, ROLLOUT, EPOCHS, MINIBATCH = 256, 128, 4, 8192
ROWS = 2 * GAMES * ROLLOUT  # agent-steps of an iteration
PHYSICS_GAMES, PHYSICS_FRAMES = 1024, 300


def fixed_config(checkpoint: str, *, iterations: int, games: int = GAMES, frame_skip: int = 4) -> Config:
    """256 games, rollout 128, both seats newest weights, 2x128 tanh, 4 epochs, minibatch 8192."""
    return Config.model_validate(
        {
            "game": {"frame_skip": frame_skip},
            "ppo": {"rollout_length": ROLLOUT, "batch_size": MINIBATCH, "epochs": EPOCHS},
            "net": {"hidden": (128, 128), "activation": "tanh"},
            "league": {"mode": "latest", "track_elo": False},
            "run": {"timesteps": games * ROLLOUT * iterations, "num_games": games, "checkpoint": checkpoint},
        }
    )


def fastest_quarter(seconds: Sequence[float]) -> float:
    """Mean of the fastest quarter, which counts since load of a shared machine only adds time."""
    return fmean(sorted(seconds)[: max(1, len(seconds) // 4)])


def rate(units: float, seconds: Sequence[float]) -> float:
    """Units a second."""
    return units / fastest_quarter(seconds)


def seconds_of(function: Callable[[], object]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


class Bounds:
    """The arithmetic of one iteration without anything around it."""

    def __init__(self, network: ActorCritic, threads: int) -> None:
        self._network = network
        self._parameters = list(network.parameters())
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
        linear = [module for module in network.modules() if isinstance(module, torch.nn.Linear)]
        self._weights = [layer.weight.detach().clone() for layer in linear]
        self._play = torch.randn(-(-2 * GAMES // threads), OBS_WIDTH)
        self._learn = torch.randn(-(-MINIBATCH // threads), OBS_WIDTH)

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown()

    def gemm(self) -> None:
        """The bare matrix products: a forward a step; an epoch of forward, weight and input gradients."""
        self._both(self._gemm_forward, ROLLOUT, self._play)
        self._both(self._gemm_backward, EPOCHS * ROWS // MINIBATCH, self._learn)

    def net(self) -> None:
        """The same passes through the module's own forward and backward."""
        self._both(self._net_forward, ROLLOUT, self._play)
        self._both(self._net_backward, EPOCHS * ROWS // MINIBATCH, self._learn)

    def _both(self, function: Callable[[Tensor], object], times: int, rows: Tensor) -> None:
        for _ in range(times):
            list(self._pool.map(function, [rows] * self._threads))

    def _gemm_forward(self, rows: Tensor) -> list[Tensor]:
        with torch.inference_mode():
            inputs = [rows]
            for weight in self._weights:
                inputs.append(inputs[-1] @ weight.T)
            return inputs

    def _gemm_backward(self, rows: Tensor) -> None:
        with torch.inference_mode():
            inputs = self._gemm_forward(rows)
            gradient = inputs.pop()
            for i in range(len(self._weights) - 1, -1, -1):
                _ = gradient.T @ inputs[i]
                if i:
                    gradient = gradient @ self._weights[i]

    def _net_forward(self, rows: Tensor) -> None:
        with torch.inference_mode():
            self._network(rows)

    def _net_backward(self, rows: Tensor) -> None:
        logits, value = self._network(rows)
        torch.autograd.grad([logits, value], self._parameters, [torch.ones_like(logits), torch.ones_like(value)])


class Physics:
    """1024 games with random inputs drawn beforehand, split over the cores."""

    def __init__(self, threads: int) -> None:
        rng = np.random.default_rng(0)
        self._pool = ThreadPoolExecutor(threads)
        sizes = [PHYSICS_GAMES * (i + 1) // threads - PHYSICS_GAMES * i // threads for i in range(threads)]
        self._games = [MockMelee(size) for size in sizes]
        self._inputs = []
        for game, size in zip(self._games, sizes, strict=True):
            game.reset(rng.integers(2**62, size=size).astype(np.uint64))
            actions = rng.integers(0, HIGHEST + 1, (PHYSICS_FRAMES, size, 2, len(HIGHEST))).astype(np.int8)
            inputs = records(CONTROLLER, PHYSICS_FRAMES, size, 2)
            decode(actions, inputs)
            self._inputs.append(inputs)

    def run(self) -> None:
        """Play all frames of all games."""
        list(self._pool.map(lambda part: part[0].play(part[1]), zip(self._games, self._inputs, strict=True)))

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown()


def replay_speeds(replays: Sequence[Path]) -> dict[str, float]:
    """Game-frames of .slp files read, and read and encoded, a second; without files, of games that the mock writes."""
    with tempfile.TemporaryDirectory() as folder:
        paths = replays or write_games(Path(folder))
        return {
            "slp_frames_per_s": frames_per_second(paths),
            "imitation_frames_per_s": imitated_frames_per_second(paths),
        }


def measure(rounds: int, say: Callable[[str], None] = lambda _: None, replays: Sequence[Path] = ()) -> Figures:
    """All figures. Loop, bounds and physics run in turn, ``rounds`` times each; the fastest quarter counts.

    ``supervision_overhead`` is the median over rounds of (with the tree) / (without) - 1, paired.
    """
    from scripts.studies.bench.loop import Times, make_session, network, rollout_bytes_per_game, with_tree, without_tree
    from scripts.studies.bench.parts import where_time_goes
    from scripts.studies.bench.process import start_beyond_imports_s, tree_mb

    threads = len(make_session().blocks)
    bounds, physics = Bounds(network(), threads), Physics(threads)
    tree = Times()
    overhead: list[float] = []
    samples: dict[str, list[float]] = {"gemm": [], "net": [], "physics": []}
    for part in (bounds.gemm, bounds.net, physics.run, with_tree, without_tree):
        part()  # compile, allocate, warm up
    for i in range(rounds):
        say(f"round {i + 1} of {rounds}")
        both = (with_tree(), without_tree()) if i % 2 else (without_tree(), with_tree())[::-1]
        tree.extend(both[0])
        overhead.append(median(both[0].total) / median(both[1].total) - 1.0)
        samples["gemm"].append(seconds_of(bounds.gemm))
        samples["net"].append(seconds_of(bounds.net))
        samples["physics"].append(seconds_of(physics.run))
    bounds.close()
    physics.close()
    train, net = rate(ROWS, tree.total), rate(ROWS, samples["net"])
    return {
        **measured_here(),
        "loop_threads": threads,
        "obs_width": OBS_WIDTH,
        "rollout_agent_steps_per_s": rate(ROWS, tree.collect),
        "update_agent_steps_per_s": rate(ROWS, tree.update),
        "train_agent_steps_per_s": train,
        "gemm_bound_agent_steps_per_s": rate(ROWS, samples["gemm"]),
        "net_bound_agent_steps_per_s": net,
        "train_share_of_net_bound": train / net,
        "supervision_overhead": median(overhead),
        **where_time_goes(fastest_quarter(tree.collect), fastest_quarter(tree.update), threads),
        **latencies(),
        **replay_speeds(replays),
        "physics_game_frames_per_s": rate(PHYSICS_GAMES * PHYSICS_FRAMES, samples["physics"]),
        "memory_bytes_per_game": MockMelee(1).memory_bytes,
        "rollout_bytes_per_game": rollout_bytes_per_game(),
        "tree_mb": tree_mb(GAMES),
        "start_beyond_imports_s": start_beyond_imports_s(rounds),
    }
