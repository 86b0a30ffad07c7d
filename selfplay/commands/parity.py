"""Compares a network with its copy in another format, on observations of games."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from envs.compilation import compile_rules
from envs.registry import find_game, make_game
from envs.vector import RANDOM
from selfplay.policy.played_game import game_of
from selfplay.seeding import derive

if TYPE_CHECKING:
    from envs.api import ScriptedGame
    from selfplay.checkpoint import PolicyMeta
    from selfplay.policy.formats import Decide
    from selfplay.policy.network import ActorCritic

PLAYERS: Final = (("edge_guarder", "rusher"), ("random", "counter_hitter"))  # of each fight
GAMES: Final = 4  # of random players, that are no fights
EPISODES: Final = 3  # minimum of each fight, if there are enough steps


@dataclass(frozen=True, slots=True)
class Seen:
    """Observations of the seats of some games, decision by decision."""

    obs: Tensor  # float [T, N, D]
    fresh: Tensor  # bool [T, N] an episode begins, and memory with it
    count: int  # observations of seats that had a choice


def seen_in_games(meta: PolicyMeta, observations: int) -> Seen:
    """At least ``observations`` of the policy's game: of scripted players in fights, of random ones in other games.

    Fights have the policy's characters, stage, frame skip and delay.

    Raises:
        GameError: the game failed.
    """
    name = game_of(meta)
    if find_game(name).fighter:
        game = _fights(meta, observations)
    else:
        game = make_game(name, num_games=GAMES)
        game.bots[:] = game.bot_names.index(RANDOM)
    obs = game.reset(np.array([derive(0, "export", g) for g in range(game.num_games)], np.uint64))
    ended = np.ones(game.num_games, np.bool_)
    nothing = np.zeros((game.num_games, 2, game.actions.width), np.int8)  # scripted players have all seats
    count, seen, fresh = 0, list[NDArray[np.float32]](), list[NDArray[np.bool_]]()
    while count < observations and len(seen) < observations:  # a step may leave no seat a choice
        seen.append(obs.reshape(2 * game.num_games, -1).copy())
        fresh.append(ended.repeat(2))
        count += 2 * game.num_games if game.legal is None else int(game.actions.choices(game.legal).sum())
        batch = game.step(nothing)
        obs, ended = batch.obs, batch.ended
    game.close()
    return Seen(torch.from_numpy(np.stack(seen)), torch.from_numpy(np.stack(fresh)), count)


def _fights(meta: PolicyMeta, observations: int) -> ScriptedGame:
    from envs.melee import bots  # takes a while to load
    from envs.melee.mock import MockMelee

    compile_rules(find_game("mock"))
    steps = -(-observations // (2 * len(PLAYERS)))
    game = MockMelee(
        len(PLAYERS),
        characters=(meta.characters[0], meta.characters[-1]),
        stage=meta.stage,
        frame_skip=meta.frame_skip,
        delay=meta.delay,
        max_episode_frames=max(1, steps // EPISODES) * meta.frame_skip,
    )
    game.bot_skip = bots.FRAME_SKIP
    game.bots[:] = [[bots.NAMES.index(name) for name in pair] for pair in PLAYERS]
    return game


def largest_difference(network: ActorCritic, decide: Decide, seen: Seen) -> float:
    """Largest difference between their outputs: logits, values and memory.

    Each keeps its own memory over an episode, so that differences may add up. The result is infinite if an output
    is not finite or has another shape.
    """
    largest = 0.0
    with torch.inference_mode():
        ours = theirs = network.first_memory(seen.obs.shape[1])
        for obs, fresh in zip(seen.obs, seen.fresh, strict=True):
            *outputs, ours = network.step(obs, ours.masked_fill(fresh[:, None], 0.0))
            *copies, theirs = decide(obs, theirs.masked_fill(fresh[:, None], 0.0))
            for a, b in zip((*outputs, ours), (*copies, theirs), strict=True):
                if a.shape != b.shape:
                    return math.inf
                apart = float((a - b).abs().max()) if a.numel() else 0.0
                largest = max(largest, apart) if math.isfinite(apart) else math.inf
    return largest
