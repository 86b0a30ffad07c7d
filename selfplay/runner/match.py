"""Games between frozen players, for ratings and evaluation: nothing is learned from them.

All games of a call run side by side in one block, each for one episode. Every policy decides at its own frame skip
and delay, whatever its opponent's are. What it draws follows from its game alone, see ``luck``, so that any game can
be played again by itself; the network's own sums may differ in the last bit with the number of games beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from envs.melee import bots
from envs.melee.controller import NEUTRAL
from envs.melee.dolphin.roster import CPU
from envs.melee.mock import MockMelee
from selfplay.errors import RunnerError
from selfplay.policy.memory import Ask, directly
from selfplay.runner.deciders import Deciders, Rows
from selfplay.runner.luck import keys_of

if TYPE_CHECKING:
    from selfplay.policy.policy import Policy
    from selfplay.runner.process_game import ProcessGame

    Stage = MockMelee | ProcessGame
    """Where rating games are played."""

MELEE: Final = "melee-1.02"
"""Version of the real game's own players."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A frozen player: a policy, or a scripted or computer player where there is none."""

    id: str
    policy: Policy | None = None

    @property
    def is_cpu(self) -> bool:
        """Whether it is a computer player of the real game, which no controller of ours moves."""
        return self.policy is None and self.id in CPU

    @property
    def version(self) -> str:
        """What tells this player from another of the same name."""
        if self.is_cpu:
            return MELEE
        return f"bots-{bots.VERSION}" if self.policy is None else str(self.policy.meta.weights_hash)

    @property
    def frame_skip(self) -> int:
        """Frames between two decisions."""
        if self.is_cpu:
            return 1
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
    """Play every game to its end in the mock; the counts of both seats, ``mock.STATS`` [G, 2]. Blocks.

    The same pairing gives the same game, whatever is played beside it. ``watch`` is shown the block before each frame.

    Raises:
        RunnerError: ``stop`` said so.
    """
    options = game_options(pairings, contenders, rules)
    if watch is not None:  # who holds a controller for k frames may as well be asked after each: so all are seen
        options["frame_skip"] = 1
    game = MockMelee(len(pairings), **options)
    seen = None if watch is None else lambda: watch(game)
    return _play(game, options["frame_skip"], pairings, contenders, rules.greedy, stop, watch=seen)


def play_on(
    game: Stage,
    pairing: Pairing,
    contenders: Mapping[str, Contender],
    rules: Rules,
    stop: Callable[[], bool] = lambda: False,
    ask: Ask = directly,
) -> NDArray[np.void]:
    """Play one game to its end in a block of one that was made with ``game_options``; its counts [2]. Blocks.

    Raises:
        RunnerError: ``stop`` said so, or the game's process has ended.
        GameError: the game failed.
    """
    skip = game_options([pairing], contenders, rules)["frame_skip"]
    stats: NDArray[np.void] = _play(game, skip, [pairing], contenders, rules.greedy, stop, ask)[0]
    return stats


def game_options(pairings: Sequence[Pairing], contenders: Mapping[str, Contender], rules: Rules) -> dict[str, Any]:
    """Arguments of the game that pairings are played in, JSON-able."""
    seats = [[contenders[name] for name in pairing.players] for pairing in pairings]
    ours = [c.frame_skip for pair in seats for c in pair if not c.is_cpu]
    return {
        "characters": [list(pairing.characters) for pairing in pairings],
        "stage": rules.stage,
        "frame_skip": math.gcd(*ours) or bots.FRAME_SKIP,
        "bot_skip": bots.FRAME_SKIP,
        "delay": [[c.delay for c in pair] for pair in seats],
        "max_episode_frames": rules.max_episode_frames,
    }


def _play(
    game: Stage,
    skip: int,
    pairings: Sequence[Pairing],
    contenders: Mapping[str, Contender],
    greedy: bool,
    stop: Callable[[], bool],
    ask: Ask = directly,
    watch: Callable[[], None] | None = None,
) -> NDArray[np.void]:
    torch.set_num_threads(1)  # on batches as small as these threads would only wait for each other
    players = _seat(game, pairings, contenders)  # before the games begin: real ones choose computer players then
    deciders = Deciders(players, keys_of(pairings), greedy=greedy, ask=ask)
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
            watch()
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


def _seat(game: Stage, pairings: Sequence[Pairing], contenders: Mapping[str, Contender]) -> list[tuple[Policy, Rows]]:
    """Tell the game which seats are scripted; the policies with the seats that they play."""
    game.bots[:] = -1
    played: dict[str, tuple[Policy, list[int]]] = {}
    for g, pairing in enumerate(pairings):
        for seat, name in enumerate(pairing.players):
            contender = contenders[name]
            if contender.policy is None:
                game.bots[g, seat] = game.bot_names.index(contender.id)
            else:
                played.setdefault(name, (contender.policy, []))[1].append(2 * g + seat)
    return [(policy, np.array(rows, np.intp)) for _, (policy, rows) in sorted(played.items())]
