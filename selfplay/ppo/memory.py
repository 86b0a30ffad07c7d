"""Estimate of the memory of a run of fights or of a solved game, checked before the run starts.

Sizes follow from the dtypes and shapes of the arrays: those of one game and one step, times the numbers of games and
steps. Only the memory of a process's libraries is measured.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from selfplay.checkpoint import ActionHeads
from selfplay.config.ppo import SCRIPTED
from selfplay.errors import ConfigError
from selfplay.games.errors import EnumerationError
from selfplay.games.registry import make_game
from selfplay.games.solved.enumeration import Limits, find_tree
from selfplay.games.solved.exact import mean_length
from selfplay.league.modes import CURRENT
from selfplay.learner.parallel_step import CHUNK
from selfplay.machine import update_threads
from selfplay.memory_limits import as_size, available_memory, resident_memory
from selfplay.policy.network import ActorCritic
from selfplay.rollout.rollout import LEARNED, Fields, segment_fields
from selfplay.runner.block import MIRROR
from selfplay.runner.game_process import layout
from selfplay.runner.segment import Episode

if TYPE_CHECKING:
    from selfplay.checkpoint import NetworkSpec
    from selfplay.config.ppo import Config
    from selfplay.games.api import ScriptedGame

MB: Final = 1 << 20
FILES_MB: Final = 177  # pages of the libraries' files (RssFile) that a trainer has mapped; the kernel may drop them
BASE_MB: Final = 233 + FILES_MB
"""Libraries and compiled rules: the peak (VmHWM) of a trainer with 4 games of 16 steps is 402 MB in Kuhn poker and
426 MB in the mock (Linux, Python 3.11)."""
IMITATION_MB: Final = 850  # of a process that imitates scripted players first: its peak with the defaults is 832 MB
CHILD_MB: Final = 105  # of a process of games, without what processes share: RssAnon with 1 to 256 games of the mock
F32: Final = 4  # bytes of a number
PROBED: Final = 32  # steps of the unroll whose activations are counted
PLACE_BYTES: Final = sys.getsizeof((0, 0)) + sys.getsizeof(np.int64(0)) + 8 + 2 * 8
"""Bytes of an index at which an episode ended, first in a list and then in an array."""


SMALL: Final = Limits(nodes=20_000, seconds=5.0)  # of games that are written down for the length of their episodes


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes of a run at its peak, by what they grow with."""

    processes: int
    networks: int
    minibatches: int
    games: int
    segments: int  # grows with games times steps
    before: int = 0  # of the whole process, at the peak of what precedes the run

    @property
    def total(self) -> int:
        return max(self.before, self.processes + self.networks + self.minibatches + self.games + self.segments)


def check_memory(config: Config, *, resumed: bool) -> None:
    """Refuse a run that needs more memory than there is; the ConfigError names both, and the flag to lower."""
    left = available_memory()
    if left is None:
        return
    there = left.amount + resident_memory()  # the estimate counts what this process has already
    need = estimate(config, there)
    if resumed:
        need = replace(need, before=0)
    if need.total <= there:
        return
    remedy = "resume it where there is more" if resumed else _remedy(config, need)
    raise ConfigError(
        f"the run needs about {as_size(need.total)} of memory, and {left.where} has {as_size(there)} for it: {remedy}"
    )


def _remedy(config: Config, need: Need) -> str:
    """Advice for the user: the option that shrinks the largest part."""
    if need.total == need.before:
        return "start from scratch, --pretrained none"
    run, ppo = config.run, config.ppo
    games, steps = f"lower --num-games {run.num_games}", f"lower --rollout-length {ppo.rollout_length}"
    if config.game.kind.real_time:
        processes = games
    elif run.host == "thread":
        processes = "end what else uses memory"
    else:
        processes = f"lower --runners {run.runners}"
    longer = ppo.rollout_length / type(ppo)().rollout_length > run.num_games / type(run)().num_games
    return max(
        (need.processes, processes),
        (need.networks, f"lower --hidden {','.join(map(str, config.net.hidden))}"),
        (need.minibatches, f"lower --batch-size {ppo.batch_size}"),
        (need.games, games),
        (need.segments, steps if longer else games),
    )[1]


def estimate(config: Config, limit: float = math.inf) -> Need:
    """Estimate the peak memory of a run on this machine.

    Activations are left out if the copies of the weights alone exceed ``limit`` bytes.
    """
    game, run, ppo = config.game.kind, config.run, config.ppo
    one = make_game(game.compared_in, num_games=1) if game.compared_in else game.make(**config.game_options(1))
    spec, width, seats = one.actions, one.obs_width, one.num_seats
    network = config.net.spec(width)
    heads = ActionHeads(binary=spec.binary, sizes=spec.sizes)
    parameters, memory, inner = _size_of(network, heads)
    games, steps, threads = run.num_games, ppo.rollout_length, update_threads(run.threads)
    columns, rows = seats * games, seats * games * steps
    mirror = _share_of_mirrors(config)
    # Activations of one row that are alive at once in a forward pass without gradients.
    passed = F32 * (2 * max(network.hidden, default=inner) + 2 * (spec.logits + 1))
    decided = passed + 3 * F32 * memory  # the memory before, after, and on the way

    masked = one.legal is not None
    fields = segment_fields(1, 1, width, spec, masked=masked, taught=run.pretrained is not None)
    played = _bytes(fields) + 3 * F32  # with the next value, the advantage, and a difference on the way to it
    # in a batch, with the advantage, its normalized form, the target and a place in the order
    learned = _bytes({name: fields[name] for name in LEARNED if name in fields}) + 3 * F32 + 8
    copies = 2.0 if memory else (1 + mirror) / 2  # columns are learned from whole
    final = decided + F32 * 3 * width + PLACE_BYTES  # of a seat where an episode ends
    episodes = steps * games / _episode_steps(config) * (_episode_bytes(one.stats_dtype.names or ()) + seats * final)

    chunk = min(CHUNK, ppo.batch_size, rows)
    chunk = max(chunk, steps) if memory else chunk  # of a column all decisions
    guard = min(2 * ppo.batch_size, rows) * (passed + 4 * F32 * spec.logits)

    frozen = 2 * config.league.max_frozen if mirror < 1 else 0
    # weights and moments, their copies for a revert, the weights that play, a checkpoint, and the threads' gradients
    networks = F32 * parameters * (3 + 3 + (1 + ppo.max_policy_lag) + 6 + threads + frozen)
    activations = threads * chunk * _activations(network, heads) if networks <= limit else 0

    children = run.runners if (run.host != "thread" or game.real_time) and run.ray_address is None else 0
    return Need(
        processes=(BASE_MB + children * CHILD_MB) * MB,
        networks=networks,
        minibatches=int(activations + guard),
        games=int(columns * (decided + F32 * (width + 4 * memory)) + games * _game_bytes(one)),
        segments=int(rows * ((1 + ppo.max_policy_lag) * played + copies * learned) + episodes),
        before=IMITATION_MB * MB if run.pretrained == SCRIPTED else 0,
    )


def _game_bytes(one: ScriptedGame) -> int:
    """Bytes of a game: its state three times (game, checkpoint, file), the results of a step, and its opponent."""
    state = {name: (array.shape, array.dtype) for name, array in one.snapshot().items()}
    step = layout((1, one.num_seats), one.obs_width, one.actions, one.stats_dtype, one.legal is not None)
    return 3 * _bytes(state) + _bytes(step) + sys.getsizeof(MIRROR) + 5 * 8


def _share_of_mirrors(config: Config) -> float:
    """Share of the games in which both seats learn."""
    shares = config.league.shares()
    return shares.get(CURRENT, 0.0) / sum(shares.values())


def _bytes(fields: Fields) -> int:
    return sum(math.prod(shape) * dtype.itemsize for shape, dtype in fields.values())


def _size_of(network: NetworkSpec, heads: ActionHeads) -> tuple[int, int, int]:
    """Parameters, numbers remembered, and width of the last layer's input; found out without memory for a network."""
    with torch.device("meta"):
        made = ActorCritic(network, heads)
    return sum(parameter.numel() for parameter in made.parameters()), made.memory_width, made.out.in_features


def _activations(network: NetworkSpec, heads: ActionHeads) -> float:
    """Bytes that are kept of a decision until its gradient is known, and as many for the gradients."""
    if network.kind == "mlp":
        return F32 * (2 * sum(network.hidden) + 3 * (sum(heads.sizes) + heads.binary + 1) + network.obs_width)
    kept: dict[int, torch.UntypedStorage] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage
        return tensor

    with torch.random.fork_rng(devices=[]):  # first weights are drawn, which must not change what the run draws
        made = ActorCritic(network, heads)
    obs, fresh = torch.zeros(1, PROBED, network.obs_width), torch.zeros(1, PROBED, dtype=torch.bool)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        if made.memory_width:
            made.unroll(obs, made.first_memory(1), fresh)
        else:
            made(obs[0])
    for parameter in made.parameters():
        kept.pop(parameter.untyped_storage().data_ptr(), None)
    return 2 * sum(storage.nbytes() for storage in kept.values()) / PROBED


def _episode_steps(config: Config) -> float:
    """Mean steps of an episode: under random play, or the cap."""
    game = config.game.kind
    if game.table is not None:
        with suppress(EnumerationError):  # a large game has long episodes, which take less
            tree = find_tree(config.game.type, SMALL)
            return mean_length(tree, tree.players["random"])
    return max(1.0, config.game.cap_frames / config.game.body.frame_skip)


def _episode_bytes(names: Collection[str]) -> int:
    """Bytes of the record of an episode with these statistics."""
    stats = dict.fromkeys(names, 0.5)
    record = Episode(MIRROR.id, MIRROR.kind, score=0.5, terminated=True, stats=stats, lead=0.5)
    return sys.getsizeof(record) + sys.getsizeof(stats) + (len(stats) + 2) * sys.getsizeof(0.5) + 8
