"""Games between frozen players, for ratings and evaluation: nothing is learned from them.

All games of a call run side by side in one block, each for one episode. Every policy decides at its own frame skip
and delay, whatever its opponent's are. What it draws follows from its game alone, see ``luck``, so that any game can
be played again by itself; the network's own sums may differ in the last bit with the number of games beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from envs.melee import bots
from envs.melee.controller import NEUTRAL
from envs.melee.mock import MockMelee
from selfplay.errors import RunnerError
from selfplay.runner.deciders import Deciders, Rows
from selfplay.runner.luck import keys_of

if TYPE_CHECKING:
    from selfplay.policy.policy import Policy


@dataclass(frozen=True, slots=True)
class Contender:
    """A frozen player: a policy, or a scripted player where there is none."""

    id: str
    policy: Policy | None = None

    @property
    def version(self) -> str:
        """What tells this player from another of the same name."""
        return f"bots-{bots.VERSION}" if self.policy is None else str(self.policy.meta.weights_hash)

    @property
    def frame_skip(self) -> int:
        """Frames between two decisions."""
        return bots.FRAME_SKIP if self.policy is None else self.policy.meta.frame_skip

    @property
    def delay(self) -> int:
        """Frames between seeing and acting."""
        return 0 if self.policy is None else self.policy.meta.delay


@dataclass(frozen=True, slots=True)
class Pairing:
    """One game to play."""

    players: tuple[str, str]
    characters: tuple[str, str]
    seed: int


@dataclass(frozen=True, slots=True)
class Rules:
    """What all games of a call share."""

    stage: str = "final_destination"
    max_episode_frames: int = 3600
    greedy: bool = False


def play(
    pairings: Sequence[Pairing],
    contenders: Mapping[str, Contender],
    rules: Rules,
    stop: Callable[[], bool] = lambda: False,
    watch: Callable[[MockMelee], None] | None = None,
) -> NDArray[np.void]:
    """Play every game to its end; the counts of both seats, ``mock.STATS`` [G, 2]. Blocks.

    The same pairing gives the same game, whatever is played beside it. ``watch`` is shown the block before each frame.

    Raises:
        RunnerError: ``stop`` said so.
    """
    torch.set_num_threads(1)  # on batches as small as these threads would only wait for each other
    seats = [[contenders[name] for name in pairing.players] for pairing in pairings]
    # who holds a controller for k frames may as well be asked after each: who watches sees every frame
    skip = 1 if watch is not None else math.gcd(*(c.frame_skip for pair in seats for c in pair))
    game = MockMelee(
        len(pairings),
        characters=[pairing.characters for pairing in pairings],
        stage=rules.stage,
        frame_skip=skip,
        delay=[[c.delay for c in pair] for pair in seats],
        max_episode_frames=rules.max_episode_frames,
    )
    game.bot_skip = bots.FRAME_SKIP
    deciders = Deciders(_seat(game, pairings, contenders), keys_of(pairings), greedy=rules.greedy)
    obs = game.reset(np.array([pairing.seed for pairing in pairings], np.uint64))
    actions = np.broadcast_to(NEUTRAL, (len(pairings), 2, len(NEUTRAL))).copy()
    acts = np.zeros((len(pairings), 2), bool)
    stats: NDArray[Any] = np.zeros((len(pairings), 2), game.stats_dtype)
    left = np.ones(len(pairings), bool)
    frame = 0
    while left.any():
        if stop():
            raise RunnerError("the games were stopped")
        if watch is not None:
            watch(game)
        deciders.act(obs, frame, actions, acts)
        batch = game.step(actions, acts)
        obs = batch.obs
        ended = batch.ended & left
        if ended.any():
            stats[ended] = batch.stats[ended]
            left &= ~ended
            deciders.leave(left)
        frame += skip
    return stats


def _seat(
    game: MockMelee, pairings: Sequence[Pairing], contenders: Mapping[str, Contender]
) -> list[tuple[Policy, Rows]]:
    """Tell the game which seats are scripted; the policies with the seats that they play."""
    played: dict[str, tuple[Policy, list[int]]] = {}
    for g, pairing in enumerate(pairings):
        for seat, name in enumerate(pairing.players):
            contender = contenders[name]
            if contender.policy is None:
                game.bots[g, seat] = game.bot_names.index(contender.id)
            else:
                played.setdefault(name, (contender.policy, []))[1].append(2 * g + seat)
    return [(policy, np.array(rows, np.intp)) for _, (policy, rows) in sorted(played.items())]
