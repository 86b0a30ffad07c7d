"""Many games as NumPy arrays, stepped together: how a fast game of one's own is written.

Letters in shapes: B games of a block, K of them, two seats, D features of an observation, A actions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from selfplay.games.api import F32, Actions, Bool, Seeds, StepBatch
from selfplay.games.errors import GameError, error_context
from selfplay.games.game import Action, Game
from selfplay.games.snapshots import put_back
from selfplay.games.splitmix import words
from selfplay.games.vector import SEED_BITS, Block, action_spec

Rows = NDArray[np.int64] | slice
"""Indices [K] of games of a block, or a slice."""
ALL: Final = slice(None)
ArrayPlayer = Callable[[Any, int, int, np.random.Generator], Action]


class ArrayGame(Block):
    """A block of B games, each a row of NumPy arrays (``ScriptedGame``).

    A subclass has the methods below, none of which loops over games, and the attributes of ``Game`` except
    ``figures``. For each entry of ``state`` an array [B, *shape] of that name is made; they are all that a game
    consists of, and every episode begins with zeros in them. One game by itself, for people and exact figures, is a
    ``SingleGame``.

    Attributes:
        state: Shape of a game and type of each array, by name.
        players: Scripted players, the weakest first, functions ``(games, b, seat, rng) -> action`` of game ``b``.
    """

    num_actions: int | Sequence[int]
    obs_width: int
    state: Mapping[str, tuple[tuple[int, ...], DTypeLike]]
    max_steps: int = 1000
    version: int = 1
    players: Mapping[str, ArrayPlayer] = MappingProxyType({})
    held_out: Sequence[str] = ()
    seat_names: Sequence[str] = ()
    objective: str | None = None
    payoff_range: tuple[float, float] | None = None
    payoff_unit: str = "points"

    if TYPE_CHECKING:  # the arrays of ``state``

        def __getattr__(self, name: str) -> NDArray[Any]: ...

    def __init__(self, num_games: int) -> None:
        if num_games < 1:
            raise GameError("num_games must be at least 1")
        super().__init__(num_games, self.obs_width, action_spec(self.num_actions), tuple(self.players))
        self._single = isinstance(self.num_actions, int)
        self._players = tuple(self.players.values())
        for name, (shape, dtype) in self.state.items():
            setattr(self, name, np.zeros((num_games, *shape), dtype))

    def begin(self, games: NDArray[np.int64], seeds: Seeds) -> None:
        """Begin an episode of the games [K], whose arrays are zero, by a seed [K] of each. Default: nothing to do."""

    def to_act(self) -> ArrayLike:
        """Which seats act next, bool [B, 2]. Default: both. The others wait."""
        return np.ones((self.num_games, 2), np.bool_)

    @abstractmethod
    def observe(self, games: Rows) -> ArrayLike:
        """Observations of both seats of K games, [K, 2, D]; valid after the end of an episode, too."""

    def legal_actions(self, games: Rows) -> ArrayLike:
        """Legal actions of both seats of K games, bool [K, 2, A], those of several parts joined. Default: all."""
        return np.ones((np.arange(self.num_games)[games].size, 2, self.actions.logits), np.bool_)

    @abstractmethod
    def play(self, actions: NDArray[Any]) -> tuple[ArrayLike, ArrayLike, ArrayLike]:
        """Play the actions of both seats, [B, 2], or [B, 2, parts]; that of a seat that waits means nothing.

        Returns:
            Rewards [B, 2]; which games are over [B]; which end without being over [B], see ``Game.step``.
        """

    def render(self, b: int) -> str | NDArray[np.uint8]:
        """Game ``b`` as text, or as a picture [H, W, 3], for people."""
        raise NotImplementedError

    def action_name(self, action: int) -> str:
        """Name of an action, which a person types to play it."""
        return str(action)

    def reset(self, seeds: Seeds) -> F32:
        self._seeds[:] = seeds
        self._episode[:] = 0
        self._begin(np.arange(self.num_games))
        return self._see()

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``; a seat that does not act plays its first legal action."""
        rewards, terminated, truncated = self.played(self._chosen(actions, acts))
        self._steps += 1
        self._return += self._finite(rewards)
        truncated = (truncated | (self._steps >= self.max_steps)) & ~terminated
        score, stats = self._standing()
        if (ended := np.flatnonzero(terminated | truncated)).size:
            self._final_obs[ended] = self.seen(ended)
            self._check_seen(self._final_obs)
            self._episode[ended] += np.uint64(1)
            self._begin(ended)
        return StepBatch(self._see(), rewards.astype(np.float32), terminated, truncated, self._final_obs, score, stats)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> F32:
        """See ``VectorGame.restore``."""
        put_back(self._parts(), arrays)
        return self._see()

    def close(self) -> None:
        """Do nothing: there are no resources."""

    def begin_one(self, seed: int) -> None:
        """Begin an episode of the first game."""
        self._clear(np.zeros(1, np.int64), np.array([seed], np.uint64))

    def acting(self) -> Bool:
        """``to_act`` as a checked array."""
        return _array("to_act", self.to_act(), (self.num_games, 2), np.bool_)

    def seen(self, games: Rows) -> F32:
        """``observe`` as a checked array."""
        return _array("observe", self.observe(games), self._obs[games].shape, np.float32)

    def allowed(self, games: Rows) -> Bool:
        """``legal_actions`` as a checked array."""
        return _array("legal_actions", self.legal_actions(games), self.legal[games].shape, np.bool_)

    def played(self, actions: Actions) -> tuple[NDArray[np.float64], Bool, Bool]:
        """``play`` with the actions [B, 2, parts], as checked arrays."""
        with error_context("play"):
            returned = self.play(actions[..., 0] if self._single else actions)
        if not isinstance(returned, tuple) or len(returned) != 3:
            raise GameError("play returned something else than three arrays (valid: rewards, over, truncated)")
        rewards, over, truncated = returned
        flags = (self.num_games,)
        return (
            _array("play, rewards", rewards, (self.num_games, 2), np.float64),
            _array("play, over", over, flags, np.bool_),
            _array("play, truncated", truncated, flags, np.bool_),
        )

    def _parts(self) -> dict[str, NDArray[Any]]:
        return super()._parts() | {"return": self._return} | {name: getattr(self, name) for name in self.state}

    def _begin(self, games: NDArray[np.int64]) -> None:
        """Begin the episode ``_episode`` of the games [K]."""
        self._return[games] = self._steps[games] = 0
        self._clear(games, words(self._seeds[games], self._episode[games]) >> SEED_BITS)

    def _clear(self, games: NDArray[np.int64], seeds: Seeds) -> None:
        for name in self.state:
            getattr(self, name)[games] = 0
        with error_context("begin"):
            self.begin(games, seeds)

    def _see(self) -> F32:
        """Ask what the seats that act see and may do."""
        acting = self.acting()
        if not acting.any(1).all():
            raise GameError(f"game {acting.any(1).argmin()}: nobody is to act, but the game is not over")
        self._obs[...] = np.where(acting[..., None], self.seen(ALL), np.float32(0))
        self.legal[...] = np.where(acting[..., None], self.allowed(ALL), self._waiting)
        return self._checked_view()

    def _ask_player(self, player: int, b: int, seat: int, rng: np.random.Generator) -> Action:
        return self._players[player](self, b, seat, rng)


class SingleGame(Game):
    """One game of an ``ArrayGame`` by itself. A seed begins the same episode as in a ``SyncVectorGame``."""

    def __init__(self, make: Callable[..., ArrayGame]) -> None:
        self.block = make(num_games=1)
        self.players = {name: partial(self._ask, player) for name, player in self.block.players.items()}
        for name in (
            *("num_actions", "obs_width", "max_steps", "version", "held_out", "seat_names"),
            *("objective", "payoff_range", "payoff_unit"),
        ):
            setattr(self, name, getattr(self.block, name))

    def reset(self, seed: int) -> None:
        self.block.begin_one(seed)

    @staticmethod
    def _ask(player: ArrayPlayer, game: SingleGame, seat: int, rng: np.random.Generator) -> Action:
        return player(game.block, 0, seat, rng)

    def to_act(self) -> Sequence[int]:
        acting: list[int] = np.flatnonzero(self.block.acting()[0]).tolist()
        return acting

    def observe(self, seat: int) -> ArrayLike:
        row: F32 = self.block.seen(ALL)[0, seat]
        return row

    def legal(self, seat: int) -> ArrayLike:
        row: Bool = self.block.allowed(ALL)[0, seat]
        return row

    def step(self, actions: Sequence[Action]) -> tuple[Sequence[float], bool, bool]:
        given = np.array([actions], self.block.actions.dtype).reshape(1, 2, -1)
        rewards, over, truncated = self.block.played(given)
        paid: list[float] = rewards[0].tolist()
        return paid, bool(over[0]), bool(truncated[0])

    def render(self) -> str | NDArray[np.uint8]:
        return self.block.render(0)

    def action_name(self, action: int) -> str:
        return self.block.action_name(action)


def _array(method: str, values: Any, shape: tuple[int, ...], dtype: type) -> NDArray[Any]:  # noqa: ANN401
    """What a method returned as an array of that shape."""
    try:
        array: NDArray[Any] = np.asarray(values, dtype)
    except (TypeError, ValueError) as error:
        raise GameError(f"{method} is no array of {dtype.__name__} (valid: one of shape {shape})") from error
    if array.shape != shape:
        raise GameError(f"{method} has the shape {array.shape} (valid: {shape})")
    return array
