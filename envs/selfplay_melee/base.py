"""What the mock and real Melee share as blocks of games: seats, delay lines, observations, results of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from selfplay.games.api import F32, Actions, Bool, Seeds, StepBatch
from selfplay.games.errors import GameError, UnknownNameError
from selfplay_melee import bots
from selfplay_melee.arrays import STATS, StepOptions, delay_lines, new_games, new_step_arrays
from selfplay_melee.controller import ACTION_SPEC, check_actions
from selfplay_melee.episodes import hold_actions
from selfplay_melee.limits import LEDGE_GRAB_LIMIT
from selfplay_melee.observation import OBS_WIDTH, encode
from selfplay_melee.reward import per_frame
from selfplay_melee.reward_weights import RewardWeights
from selfplay_melee.rng import mix, unit
from selfplay_melee.state import NUM_SEATS, GameState
from selfplay_melee.tables import CHARACTERS, STAGES, load_tables


class MeleeGame:
    """B games of two seats: a ``VectorGame`` except for the frames.

    Args:
        num_games: B.
        characters: Of seat 0 and seat 1, by name; or such a pair for each game.
        stage: By name.
        frame_skip: Frames that one step plays.
        bot_skip: Frames between two decisions of a scripted player; by default those of a step.
        delay: Frames from seeing to acting; broadcast to [B, P].
        max_episode_frames: Cap; an episode that reaches it is truncated.
        stagger: First episodes end at caps spread over the whole range, so that games do not end at the same step.
        rewards: Weights of the reward by name, see ``RewardWeights``; by default its own.
        ledge_grab_limit: A seat with more ledge grabs loses a game that ends by time, unless both have more; 0: no
            limit. Tournaments commonly allow 60 in eight minutes (the Cliffhangers count of the results screen).
    """

    num_seats: Final = NUM_SEATS
    obs_width: Final = OBS_WIDTH
    actions: Final = ACTION_SPEC
    legal: Final = None  # a controller can always be moved
    stats_dtype: Final = STATS
    bot_names: tuple[str, ...] = bots.NAMES
    outsider: int | None = None
    characters: Mapping[str, int] = CHARACTERS  # by name, with Melee's internal ids

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
        rewards: Mapping[str, float] | None = None,
        ledge_grab_limit: int = LEDGE_GRAB_LIMIT,
    ) -> None:
        if num_games < 1 or frame_skip < 1 or max_episode_frames < 1:
            raise GameError("num_games, frame_skip and max_episode_frames must be at least 1")
        if ledge_grab_limit < 0:
            raise GameError(f"ledge_grab_limit must be 0 (no limit) or more, got {ledge_grab_limit}")
        self.num_games = num_games
        self.notes: list[str] = []
        self.frame_skip = frame_skip
        self.bot_skip = frame_skip if bot_skip is None else bot_skip
        self.max_episode_frames = max_episode_frames
        self.state = self._new_state(characters, stage)
        delays = self._checked_delays(delay)
        self._tables = load_tables()
        self._games = new_games(self.state, delays, int(delays.max()) + frame_skip)
        self.bots = self._games.bots
        self._all_act = np.ones((num_games, NUM_SEATS), np.bool_)
        self._stagger = stagger
        self._rewards = per_frame(RewardWeights.of(rewards or {}))
        self._ledge_grab_limit = ledge_grab_limit
        self._out = new_step_arrays(num_games, OBS_WIDTH)
        self._batch = StepBatch(*self._out[:-1], self._out.stats.view(STATS))

    def _new_state(self, characters: Sequence[str] | Sequence[Sequence[str]], stage: str) -> GameState:
        names = np.asarray(characters)
        if names.shape not in ((NUM_SEATS,), (self.num_games, NUM_SEATS)):
            raise GameError(
                f"characters must be a pair, or a pair for each of {self.num_games} games, got {characters!r}"
            )
        for name in names.flat:
            if name not in self.characters:
                raise UnknownNameError("character", str(name), self.characters)
        if stage not in STAGES:
            raise UnknownNameError("stage", stage, STAGES)
        state = GameState.zeros(self.num_games)
        state.players["character"] = np.vectorize(self.characters.__getitem__, otypes="i")(names)
        state.game["stage"] = STAGES[stage]
        return state

    def _checked_delays(self, delay: ArrayLike) -> NDArray[np.int64]:
        delays = np.asarray(delay)
        if delays.dtype.kind not in "iu" or (delays < 0).any():
            raise GameError(f"delay must be whole frames, 0 or more, got {delay!r}")
        return np.broadcast_to(delays.astype(np.int64), (self.num_games, NUM_SEATS)).copy()

    def _options(self) -> StepOptions:
        return StepOptions(
            self.frame_skip, self.bot_skip, self.max_episode_frames, self._ledge_grab_limit, self._rewards
        )

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``. ``acts``: see ``_choose``."""
        raise NotImplementedError

    def _start_all(self, seeds: Seeds) -> None:
        """Restart every game, one seed per game.

        Raises:
            GameError: seeds of another shape or type.
        """
        seeds = np.asarray(seeds)
        if seeds.shape != (self.num_games,) or seeds.dtype.kind not in "iu":
            raise GameError(f"seeds must be {self.num_games} whole numbers, got {seeds.dtype} of shape {seeds.shape}")
        self._games.episode["seed"] = seeds.astype(np.uint64).view(np.int64) & np.int64(2**62 - 1)
        self._games.episode["number"] = 0
        self._games.episode["cap"] = self.max_episode_frames
        for b in range(self.num_games):
            self._start(b)
            if self._stagger:
                part = unit(mix(int(self._games.episode[b].seed), 7))
                self._games.episode[b].cap = max(1, int(self.max_episode_frames * (1.0 - part)))

    def _start(self, b: int) -> None:
        raise NotImplementedError

    def _choose(self, actions: Actions, acts: Bool | None) -> None:
        """Set the chosen controllers from actions.

        Args:
            actions: int8 [B, P, 14]. Those of scripted players are ignored.
            acts: [B, P]: seats whose action counts, by default all; the others hold their controller.

        Raises:
            ActionError: see ``controller.check_actions``.
        """
        shape = (self.num_games, NUM_SEATS, ACTION_SPEC.width)
        if not isinstance(actions, np.ndarray) or actions.dtype != np.int8 or actions.shape != shape:
            actions = check_actions(actions, self.num_games, NUM_SEATS)
        acts = self._all_act if acts is None else np.array(acts, np.bool_)
        if not (actions.flags.writeable and actions.flags.c_contiguous):
            actions = actions.copy()  # other layouts would be compiled again
        if not hold_actions(actions, acts, self._games):
            check_actions(actions, self.num_games, NUM_SEATS)  # raises

    @property
    def memory(self) -> NDArray[np.void]:
        """MEMORY [B, P]: the memory of the rules beside the state, such as lasers; read only."""
        return self._games.memory

    def _observe(self) -> F32:
        self._out.obs[...], self._games.mirrored[...] = encode(self.state, self._tables, delay_lines(self._games))
        return self._out.obs

    def observations(self) -> F32:
        """What the seats see now, [B, P, D]."""
        return encode(self.state, self._tables, delay_lines(self._games))[0]

    def kill(self) -> bool:
        """False: there is no process to end."""
        return False
