"""Who plays a single game (``envs.game.Game``) beside a person, and what a seat of it may choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from envs.errors import GameError, UnknownNameError
from selfplay.errors import IncompatibleError
from selfplay.policy.recurrent_state import RecurrentState

if TYPE_CHECKING:
    from envs.game import Action, Game
    from selfplay.policy.policy import Policy

RANDOM: Final = "random"  # the scripted player that every game has
Parts = Sequence[NDArray[np.bool_]]
"""Which choices are legal, for each part of an action."""


class Trained:
    """A policy in one episode. It samples, and with memory it also decides where it waits, as in training.

    Raises:
        IncompatibleError: it has other observations or actions.
    """

    def __init__(self, policy: Policy, game: Game, seed: int) -> None:
        network, sizes = policy.network, sizes_of(game)
        if (network.spec.obs_width, network.heads.binary, network.heads.sizes) != (game.obs_width, 0, sizes):
            raise IncompatibleError(
                f"{policy.meta.id} takes observations of {network.spec.obs_width} numbers and gives actions of "
                f"{network.heads.sizes} choices; this game has {game.obs_width} and {sizes}"
            )
        self.name = policy.meta.id
        self._policy, self._game = policy, game
        self._memory = RecurrentState(1)
        self._generator = torch.Generator().manual_seed(seed)

    def act(self, seat: int) -> Action:
        return self._decide(self._game.observe(seat), legal_parts(self._game, seat))

    def wait(self) -> None:
        if self._policy.network.memory_width:  # it sees zeros, and the first choice of each part alone is legal
            only = [np.arange(choices) == 0 for choices in sizes_of(self._game)]
            self._decide(np.zeros(self._game.obs_width), only)

    def _decide(self, seen: ArrayLike, legal: Parts) -> Action:
        obs = np.asarray(seen, np.float32)[None]
        chosen = self._policy.act(obs, self._generator, np.concatenate(legal)[None], memory=self._memory)
        return as_action(self._game, chosen[0].tolist())


class Scripted:
    """A scripted player of the game, by its name.

    Raises:
        UnknownNameError: the game has none of that name.
    """

    def __init__(self, name: str, game: Game, seed: int) -> None:
        if name != RANDOM and name not in game.players:
            raise UnknownNameError("scripted player", name, (RANDOM, *game.players))
        self.name = name
        self._game, self._rng = game, np.random.default_rng(seed)

    def act(self, seat: int) -> Action:
        parts = legal_parts(self._game, seat)
        if self.name == RANDOM:
            return as_action(self._game, [int(self._rng.choice(np.flatnonzero(part))) for part in parts])
        action = np.atleast_1d(self._game.players[self.name](self._game, seat, self._rng)).tolist()
        if not is_legal(action, parts):
            raise GameError(f"{self.name} chose {action} in seat {seat}, which is not legal (valid: {spans(parts)})")
        return as_action(self._game, action)

    def wait(self) -> None:
        """It remembers nothing."""


Opponent = Trained | Scripted


def player(who: Policy | str, game: Game, seed: int) -> Opponent:
    """A policy, or the scripted player of that name, in one episode; ``seed`` is that of its decisions."""
    return Scripted(who, game, seed) if isinstance(who, str) else Trained(who, game, seed)


def sizes_of(game: Game) -> tuple[int, ...]:
    """Choices of each part of an action."""
    return tuple(np.atleast_1d(game.num_actions).tolist())


def as_action(game: Game, parts: Sequence[int]) -> Action:
    return tuple(parts) if np.ndim(game.num_actions) else parts[0]


def legal_parts(game: Game, seat: int) -> Parts:
    """What a seat that is to act may choose.

    Raises:
        GameError: nothing, or an array of another shape.
    """
    sizes, legal = sizes_of(game), game.legal(seat)
    joined = np.ones(sum(sizes), np.bool_) if legal is None else np.asarray(legal, np.bool_)
    if joined.shape != (sum(sizes),):
        raise GameError(f"legal({seat}) has the shape {joined.shape} (valid: {(sum(sizes),)})")
    parts = np.split(joined, np.cumsum(sizes)[:-1])
    if not all(part.any() for part in parts):
        raise GameError(f"seat {seat} is to act and has no legal action")
    return parts


def is_legal(action: Sequence[int], parts: Parts) -> bool:
    return len(action) == len(parts) and all(
        choice in np.flatnonzero(part) for choice, part in zip(action, parts, strict=True)
    )


def spans(parts: Parts) -> str:
    """The legal numbers of each part, such as ``0-4,1|3,0``."""
    return ",".join(_span(np.flatnonzero(part).tolist()) for part in parts)


def _span(numbers: Sequence[int]) -> str:
    first, last = numbers[0], numbers[-1]
    if len(numbers) > 1 and len(numbers) == last - first + 1:
        return f"{first}-{last}"
    return "|".join(map(str, numbers))
