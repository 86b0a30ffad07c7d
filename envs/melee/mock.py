"""The mock: many games of Melee-like rules, stepped as one block of arrays by compiled code.

One step: every seat's action becomes its controller (held for ``frame_skip`` frames, arriving ``delay`` frames
late), the frames are played, rewards and observations are written, finished games start anew.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from envs.api import F32, Actions, Bool, Seeds, StepBatch
from envs.errors import GameError, UnknownNameError
from envs.melee import bots
from envs.melee.controller import ACTION_SPEC, NEUTRAL, check_actions, decode, mirror
from envs.melee.episodes import ENDED_BY, EPISODE, STATS, play_games, start_episode, step_games
from envs.melee.observation import OBS_WIDTH, encode
from envs.melee.physics.compile import is_compiled
from envs.melee.physics.memory import MEMORY
from envs.melee.rng import mix, unit
from envs.melee.state import CONTROLLER, NUM_SEATS, GameState, records
from envs.melee.tables import CHARACTERS, STAGES, load_tables
from envs.snapshots import copied, put_back

__all__ = ["ENDED_BY", "STATS", "MockMelee", "neutral_actions", "rules_are_compiled"]


class MockMelee:
    """B games (``VectorGame``).

    Args:
        num_games: B.
        characters: Of seat 0 and seat 1, by name; or such a pair for each game.
        stage: By name.
        frame_skip: Frames that one step plays.
        delay: Frames from seeing to acting; a number, one for each seat, or one for each game and seat.
        max_episode_frames: Cap; an episode that reaches it is truncated.
        stagger: First episodes end at caps spread over the whole range, so that games do not end in step.
        reward_stock: Reward of a stock.
        reward_damage: Reward of a percent of damage.
    """

    num_seats: Final = NUM_SEATS
    obs_width: Final = OBS_WIDTH
    actions: Final = ACTION_SPEC
    legal: Final = None  # a controller can always be moved
    stats_dtype: Final = STATS
    bot_names: Final[tuple[str, ...]] = bots.NAMES

    def __init__(
        self,
        num_games: int,
        *,
        characters: Sequence[str] | Sequence[Sequence[str]] = ("mewtwo", "mewtwo"),
        stage: str = "final_destination",
        frame_skip: int = 1,
        delay: ArrayLike = 0,
        max_episode_frames: int = 3600,
        stagger: bool = False,
        reward_stock: float = 5.0,
        reward_damage: float = 0.05,
    ) -> None:
        if num_games < 1 or frame_skip < 1 or max_episode_frames < 1:
            raise GameError("num_games, frame_skip and max_episode_frames must be at least 1")
        delays = np.asarray(delay)
        if delays.dtype.kind not in "iu" or (delays < 0).any():
            raise GameError(f"delay must be whole frames, 0 or more, got {delay!r}")
        names = np.asarray(characters)
        if names.shape not in ((NUM_SEATS,), (num_games, NUM_SEATS)):
            raise GameError(f"characters must be a pair, or a pair for each of {num_games} games, got {characters!r}")
        for name in names.flat:
            if name not in CHARACTERS:
                raise UnknownNameError("character", str(name), CHARACTERS)
        if stage not in STAGES:
            raise UnknownNameError("stage", stage, STAGES)
        self.num_games = num_games
        self.frame_skip = frame_skip
        self.bot_skip = frame_skip  # frames between two decisions of a scripted player
        self.max_episode_frames = max_episode_frames
        self.state = GameState.zeros(num_games)
        self.state.players["character"] = np.vectorize(CHARACTERS.__getitem__, otypes="i")(names)
        self.state.game["stage"] = STAGES[stage]
        self.bots = np.full((num_games, NUM_SEATS), -1, np.int8)  # scripted player of a seat, -1 = none
        self._delay = np.broadcast_to(delays.astype(np.int64), (num_games, NUM_SEATS)).copy()
        self._tables = load_tables()
        self._memory = records(MEMORY, num_games, NUM_SEATS)
        self._bot_memory = records(bots.BOT, num_games, NUM_SEATS)
        self._episode = records(EPISODE, num_games)
        self._line = records(CONTROLLER, num_games, NUM_SEATS, int(self._delay.max()) + frame_skip)
        self._chosen = records(CONTROLLER, num_games, NUM_SEATS)
        self._mirrored = np.zeros((num_games, NUM_SEATS), np.bool_)
        self._stagger = stagger
        self._rewards = np.array([reward_stock, reward_damage])
        self._sums = np.zeros((num_games, NUM_SEATS, len(self._rewards)))
        shape = (num_games, NUM_SEATS)
        self._batch = StepBatch(
            np.zeros((*shape, OBS_WIDTH), np.float32),
            np.zeros(shape, np.float32),
            np.zeros(num_games, np.bool_),
            np.zeros(num_games, np.bool_),
            np.zeros((*shape, OBS_WIDTH), np.float32),
            np.zeros(shape, np.float32),
            np.zeros(shape, STATS),
        )

    def reset(self, seeds: Seeds) -> F32:
        """See ``VectorGame.reset``."""
        seeds = np.asarray(seeds)
        if seeds.shape != (self.num_games,) or seeds.dtype.kind not in "iu":
            raise GameError(f"seeds must be {self.num_games} whole numbers, got {seeds.dtype} of shape {seeds.shape}")
        self._episode["seed"] = seeds.astype(np.uint64).view(np.int64) & np.int64(2**62 - 1)
        self._episode["number"] = 0
        self._episode["cap"] = self.max_episode_frames
        for b in range(self.num_games):
            self._start(b)
            if self._stagger:
                part = unit(mix(int(self._episode[b].seed), 7))
                self._episode[b].cap = max(1, int(self.max_episode_frames * (1.0 - part)))
        return self._observe()

    def _start(self, b: int) -> None:
        start_episode(
            b, self._episode, self.state.game, self.state.players, self._memory, self.state.controllers, self._chosen,
            self._line, self._bot_memory, self._sums, self._tables, self.max_episode_frames,
        )  # fmt: skip

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``.

        Args:
            actions: int8 [B, P, 13].
            acts: Whose action counts, [B, P]; the others hold their controller. By default everybody's. That of a
                scripted player never does.

        Raises:
            ActionError: see ``controller.check_actions``.
        """
        actions = mirror(check_actions(actions, self.num_games, NUM_SEATS), self._mirrored)
        acting = self.bots < 0
        if acts is not None:
            acting &= acts
        if acting.all():
            decode(actions, self._chosen)
        else:  # scripted players, and who does not act now, keep what they chose
            chosen = self._chosen[acting]
            decode(actions[acting], chosen)
            self._chosen[acting] = chosen
        batch = self._batch
        step_games(
            self.frame_skip, self.bot_skip, self.max_episode_frames, self._delay, self._rewards, self._episode,
            self.state.game, self.state.players, self.state.controllers, self._memory, self.bots, self._bot_memory,
            self._chosen, self._line, self._mirrored, self._sums, self._tables, batch.obs, batch.reward,
            batch.terminated, batch.truncated, batch.final_obs, batch.score, batch.stats.view(np.recarray),
        )  # fmt: skip
        return batch

    def play(self, controllers: NDArray[np.void]) -> None:
        """Play raw CONTROLLER frames [T, B, P], resets included, with no delay, reward or observation."""
        play_games(
            controllers, self.max_episode_frames, self._episode, self.state.game, self.state.players,
            self.state.controllers, self._memory, self._chosen, self._line, self._bot_memory, self._sums, self._tables,
        )  # fmt: skip
        self._observe()

    @property
    def memory(self) -> NDArray[np.void]:
        """What the rules remember of each player beside the state, lasers for one: MEMORY [B, P], only to be read."""
        return self._memory

    @property
    def memory_bytes(self) -> int:
        """Of game states, memories, controllers on their way, and observations, over all games."""
        batch = self._batch
        kept = (*self._parts().values(), batch.obs, batch.final_obs, batch.reward, batch.stats)
        return sum(array.nbytes for array in kept)

    def kill(self) -> bool:
        """Nothing to end by force: the games live in this process."""
        return False

    def close(self) -> None:
        """Nothing to let go of."""

    def _observe(self) -> F32:
        self._batch.obs[...], self._mirrored[...] = encode(self.state, self._tables)
        return self._batch.obs

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """See ``VectorGame.snapshot``."""
        return copied(self._parts())

    def restore(self, arrays: dict[str, NDArray[Any]]) -> F32:
        """See ``VectorGame.restore``.

        Raises:
            GameError: not a snapshot of such a block.
        """
        put_back(self._parts(), arrays)
        return self._observe()

    def _parts(self) -> dict[str, NDArray[Any]]:
        state = self.state
        parts: dict[str, NDArray[Any]] = {
            "game": state.game, "players": state.players, "controllers": state.controllers, "memory": self._memory,
            "bots": self.bots, "bot_memory": self._bot_memory, "episode": self._episode, "line": self._line,
            "sums": self._sums, "delay": self._delay, "chosen": self._chosen,
        }  # fmt: skip
        return {f"{name}-{_layout(array.dtype)}": _as_bytes(array) for name, array in parts.items()}


def _as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The memory of an array, the bytes of an element along a last axis."""
    raw: NDArray[np.uint8] = array.view(np.ndarray).view(np.dtype((np.void, array.itemsize))).view(np.uint8)
    return raw.reshape(*array.shape, array.itemsize)


def _layout(dtype: np.dtype[Any]) -> str:
    """A short name of a type, so that bytes of another layout are not taken for it."""
    return f"{zlib.crc32(str(dtype).encode()):08x}"


def rules_are_compiled() -> bool:
    """Whether a first step will start at once; otherwise it compiles for about half a minute."""
    return is_compiled(step_games)


def neutral_actions(num_games: int) -> Actions:
    """Hands off: int8 [B, P, 13]."""
    return np.broadcast_to(NEUTRAL, (num_games, NUM_SEATS, len(NEUTRAL))).copy()
