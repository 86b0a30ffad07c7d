"""What every block of Melee games is, whoever plays the frames: seats, controllers on their way, what steps give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from envs.api import F32, Actions, Bool, Seeds, StepBatch
from envs.errors import GameError, UnknownNameError
from envs.melee import bots
from envs.melee.controller import ACTION_SPEC, check_actions
from envs.melee.episodes import EPISODE, STATS, hold_actions
from envs.melee.observation import OBS_WIDTH, encode
from envs.melee.physics.compile import plain
from envs.melee.physics.memory import MEMORY
from envs.melee.rng import mix, unit
from envs.melee.state import CONTROLLER, NUM_SEATS, GameState, records
from envs.melee.tables import CHARACTERS, STAGES, load_tables


class Fight:
    """B games of two seats: everything of a ``VectorGame`` but the frames.

    Args:
        num_games: B.
        characters: Of seat 0 and seat 1, by name; or such a pair for each game.
        stage: By name.
        frame_skip: Frames that one step plays.
        bot_skip: Frames between two decisions of a scripted player; by default those of a step.
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
    bot_names: tuple[str, ...] = bots.NAMES
    outsider: int | None = None
    characters: Mapping[str, int] = CHARACTERS  # that can be chosen, with Melee's internal numbers

    def __init__(
        self,
        num_games: int,
        *,
        characters: Sequence[str] | Sequence[Sequence[str]] = ("mewtwo", "mewtwo"),
        stage: str = "final_destination",
        frame_skip: int = 1,
        bot_skip: int | None = None,
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
            if name not in self.characters:
                raise UnknownNameError("character", str(name), self.characters)
        if stage not in STAGES:
            raise UnknownNameError("stage", stage, STAGES)
        self.num_games = num_games
        self.notes: list[str] = []
        self.frame_skip = frame_skip
        self.bot_skip = frame_skip if bot_skip is None else bot_skip
        self.max_episode_frames = max_episode_frames
        self.state = GameState.zeros(num_games)
        self.state.players["character"] = np.vectorize(self.characters.__getitem__, otypes="i")(names)
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
        self._everybody = np.ones((num_games, NUM_SEATS), np.bool_)
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

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``; ``acts``: see ``_choose``."""
        raise NotImplementedError

    def _start_all(self, seeds: Seeds) -> None:
        """Start every game anew, one seed per game.

        Raises:
            GameError: seeds of another shape or type.
        """
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

    def _start(self, b: int) -> None:
        """Start the next episode of game ``b``."""
        raise NotImplementedError

    def _choose(self, actions: Actions, acts: Bool | None) -> None:
        """Put actions into the hands of those who act.

        Args:
            actions: int8 [B, P, 13].
            acts: Whose action counts, [B, P]; the others hold their controller. By default everybody's. That of a
                scripted player never does.

        Raises:
            ActionError: see ``controller.check_actions``.
        """
        shape = (self.num_games, NUM_SEATS, ACTION_SPEC.width)
        if not isinstance(actions, np.ndarray) or actions.dtype != np.int8 or actions.shape != shape:
            actions = check_actions(actions, self.num_games, NUM_SEATS)
        who = self._everybody if acts is None else np.array(acts, np.bool_)
        if not (actions.flags.writeable and actions.flags.c_contiguous):
            actions = actions.copy()  # other kinds of arrays would be compiled for anew
        if not hold_actions(actions, self._mirrored, self.bots, who, plain(self._chosen)):
            check_actions(actions, self.num_games, NUM_SEATS)  # says which one, and why

    @property
    def memory(self) -> NDArray[np.void]:
        """What is remembered of each player beside the state, lasers for one: MEMORY [B, P], only to be read."""
        return self._memory

    def _observe(self) -> F32:
        self._batch.obs[...], self._mirrored[...] = encode(self.state, self._tables)
        return self._batch.obs

    def kill(self) -> bool:
        """Nothing to end by force: the games live in this process."""
        return False
