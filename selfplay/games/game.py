"""One game of two seats, in plain Python: what a game of one's own is written as (``selfplay.games``).

Both seats may act in every step, or one of them. ``selfplay.games.vector`` plays many such games side by side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

GameT = TypeVar("GameT", bound="Game", contravariant=True)

Action = int | Sequence[int]
"""A number, or several where ``Game.num_actions`` has several."""
BOTH: tuple[int, ...] = (0, 1)


class Player(Protocol[GameT]):
    """A scripted player: it sees the whole game."""

    def __call__(self, game: GameT, seat: int, rng: np.random.Generator) -> Action:
        """A legal action of a seat that is to act. All randomness comes from ``rng``; the game is not changed."""


class Game(ABC):
    """A game of two seats, played again and again.

    A game must be deterministic given its seed and the actions: a resumed run replays its games to the step where they
    were. ``num_actions``, ``obs_width`` and the other attributes belong to the class or are set by its constructor,
    which takes no arguments, and stay as they are.

    Attributes:
        num_actions: Number of different actions, 32,768 at most; or of each part of an action that has several.
        obs_width: Features in an observation.
        max_steps: Steps after which an episode is truncated.
        version: Of the rules and observations. Games and policies of another version are not compared.
        players: Scripted players, the weakest first, beside ``random``, which every game has.
        held_out: Names of those that training does not meet by default.
        figures: Figures of an episode that has ended, of a seat, which the reports of a run show.
        seat_names: Names of the seats, for people.
        objective: What judges players: ``"outcome"``, who wins; ``"reward"``, the mean payoff, as in poker, where
            a payoff is the sum of a seat's rewards in an episode; ``"shared"``, the same where both seats always get
            equal rewards. None: what payoffs of random play show.
        payoff_range: The lowest and the highest payoff; None: not known.
        payoff_unit: What payoffs are counted in, plural, such as chips.
    """

    num_actions: int | Sequence[int]
    obs_width: int
    max_steps: int = 1000
    version: int = 1
    players: Mapping[str, Player[Any]] = MappingProxyType({})
    held_out: Sequence[str] = ()
    figures: Mapping[str, Callable[[Any, int], float]] = MappingProxyType({})
    seat_names: Sequence[str] = ()
    objective: str | None = None
    payoff_range: tuple[float, float] | None = None
    payoff_unit: str = "points"

    @abstractmethod
    def reset(self, seed: int) -> None:
        """Begin an episode."""

    def to_act(self) -> Sequence[int]:
        """Seats that act in the next step, both by default. The others wait; what they see is not asked for."""
        return BOTH

    @abstractmethod
    def observe(self, seat: int) -> ArrayLike:
        """Observation of a seat, [obs_width]; valid after the end of an episode, too."""

    def legal(self, seat: int) -> ArrayLike | None:
        """Which actions a seat that is to act has, bool [num_actions], those of several parts joined; None: all."""
        del seat
        return None

    def observe_all(self, games: Sequence[Any], seat: int) -> Sequence[ArrayLike] | NDArray[Any]:
        """Observations of a seat in N games like this one, [N, obs_width]; for those that observe faster together."""
        return [game.observe(seat) for game in games]

    def legal_all(self, games: Sequence[Any], seat: int) -> Sequence[ArrayLike | None] | NDArray[Any]:
        """``legal`` of a seat in N games like this one, [N, num_actions]."""
        return [game.legal(seat) for game in games]

    @abstractmethod
    def step(self, actions: Sequence[Action]) -> tuple[Sequence[float], bool, bool]:
        """Play the actions of both seats; that of a seat that waits means nothing.

        Returns:
            The reward of each seat; whether the game is over; and whether it ends without being over (truncated), in
            which case more would have followed. Who has the larger sum of rewards in an episode has won.
        """

    def render(self) -> str | NDArray[np.uint8]:
        """The game as text, or as a picture [H, W, 3], for people."""
        raise NotImplementedError

    def action_name(self, action: int) -> str:
        """Name of an action, which a person types to play it; for games whose action is one number."""
        return str(action)

    def close(self) -> None:  # noqa: B027 most games have no resources
        """Release all resources."""


class BlockObserved(Game):
    """A game that observes N games at once, which is faster than one after the other."""

    def observe(self, seat: int) -> NDArray[Any]:
        row: NDArray[Any] = self.observe_all([self], seat)[0]
        return row

    def legal(self, seat: int) -> NDArray[Any]:
        row: NDArray[Any] = self.legal_all([self], seat)[0]
        return row

    @abstractmethod
    def observe_all(self, games: Sequence[Any], seat: int) -> NDArray[Any]: ...

    @abstractmethod
    def legal_all(self, games: Sequence[Any], seat: int) -> NDArray[Any]: ...
