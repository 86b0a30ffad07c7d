"""Vector environments of Gymnasium with a seat for the opponent, as blocks of games.

Sub-environments 2b and 2b + 1 are the seats of game b, as where an environment of several agents is made flat. One
network plays both: the last two features say whose seat it is.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from selfplay.games.api import F32, Actions, ActionSpec, Bool, Seeds, StepBatch
from selfplay.games.errors import GameError, error_context
from selfplay.games.objective import given_by
from selfplay.games.snapshots import put_back
from selfplay.games.spaces import MASK, choices, features, flattened, joined_mask, one_line, without_mask
from selfplay.games.splitmix import words
from selfplay.games.vector import SEED_BITS, Block


class GymnasiumGames(Block):
    """B games of a ``VectorEnv`` of 2 B sub-environments (``ScriptedGame``), which cannot be copied.

    A seat whose mask allows nothing waits: it has one legal action, the first.

    Raises:
        GameError: another number of sub-environments, or what is not supported.
    """

    repeats: Final = False

    def __init__(self, env: VectorEnv[Any, Any, Any], num_games: int) -> None:
        if env.num_envs != 2 * num_games:
            raise GameError(f"num_envs is {env.num_envs}: with two seats a game, {num_games=} needs {2 * num_games}")
        with error_context("metadata['autoreset_mode']"):
            self._mode = AutoresetMode(env.metadata.get("autoreset_mode"))
        self.env = env
        for name, value in given_by(env.metadata).items():
            setattr(self, name, value)
        self._key, self._sees = without_mask(env.single_observation_space)
        width, sizes = features(self._sees, "a seat sees"), choices(env.single_action_space, "a seat plays")
        super().__init__(num_games, width + 2, ActionSpec(0, sizes, (-1,) * len(sizes)))
        self._final_obs[..., width:] = np.eye(2)
        self._resets = np.zeros(num_games, np.bool_)  # games that the next step only resets

    def reset(self, seeds: Seeds) -> F32:
        self._seeds[:] = seeds
        self._episode[:] = 0
        return self._begin()

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``; a seat that does not act plays its first legal action."""
        space = self.env.single_action_space
        given = self._chosen(actions, acts).reshape(-1, *(space.shape or ())).astype(space.dtype)
        with error_context("step"):
            obs, gained, over, cut, infos = self.env.step(given + getattr(space, "start", 0))
            rewards = np.asarray(gained, np.float64).reshape(-1, 2)
            over, cut = (np.asarray(each, np.bool_).reshape(-1, 2) for each in (over, cut))
        ends = over | cut
        if (apart := ends[:, 0] != ends[:, 1]).any():
            raise GameError(f"game {apart.argmax()}: one seat has ended and the other has not; both end together")
        self._return += self._finite(rewards)
        self._steps += ~self._resets
        score, stats = self._standing()
        self._see(obs, infos)
        ended, terminated = ends[:, 0], over[:, 0] | over[:, 1]
        self._resets = ended & (self._mode == AutoresetMode.NEXT_STEP)
        if ended.any():
            self._end(ended, infos)
        as_f32 = rewards.astype(np.float32)
        return StepBatch(self._obs, as_f32, terminated, ended & ~terminated, self._final_obs, score, stats)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> F32:
        """Restart all games and add a note."""
        put_back(self._parts(), arrays)
        self._episode += np.uint64(1)
        self.notes.append("games cannot be copied and began anew: their episodes in progress are lost")
        return self._begin()

    def close(self) -> None:
        self.env.close()

    def _begin(self) -> F32:
        """Begin all games. There is one seed, as ``VectorEnv.reset`` takes it, of those of all games."""
        with error_context("reset"):
            obs, infos = self.env.reset(seed=int(words(self._seeds, self._episode).sum() >> SEED_BITS))
        self._steps[:] = self._return[:] = 0
        self._resets[:] = False
        return self._see(obs, infos)

    def _end(self, ended: Bool, infos: dict[str, Any]) -> None:
        """Keep what was last seen in games that have ended, and begin the next ones."""
        self._episode += ended
        rows = np.repeat(ended, 2)
        if self._mode == AutoresetMode.SAME_STEP:
            with error_context("autoreset_mode is SAME_STEP, final_obs"):
                last = infos["final_obs"]
                if isinstance(last, np.ndarray) and last.dtype == object:  # None where no episode ended
                    flat = np.concatenate([self._flat(each, 1) for each in last[rows]])
                else:
                    flat = self._flat(last, len(rows))[rows]
                self._final_obs[ended, :, :-2] = flat.reshape(-1, 2, self.obs_width - 2)
                self._check_seen(self._final_obs)
        else:
            self._final_obs[ended] = self._obs[ended]
        self._steps[ended] = self._return[ended] = 0
        if self._mode == AutoresetMode.DISABLED:
            with error_context("reset"):
                obs, infos = self.env.reset(options={"reset_mask": rows})
            self._see(obs, infos, ended)
        elif self._mode == AutoresetMode.NEXT_STEP:
            self._obs[ended] = 0
            self.legal[ended] = self._waiting

    def _see(self, obs: Any, infos: dict[str, Any], games: Bool | slice = slice(None)) -> F32:  # noqa: ANN401
        """Take over what the seats of some games see and may do; what all see."""
        legal = np.ones((2 * self.num_games, self.actions.logits), np.bool_)
        self._obs[games, :, :-2] = self._flat(obs, len(legal)).reshape(self.num_games, 2, -1)[games]
        self._obs[games, :, -2:] = np.eye(2)
        if not isinstance(infos, dict):
            raise GameError(f"infos is a {type(infos).__name__} (valid: a dict of arrays, as Gymnasium 1.x has it)")
        mask = obs[MASK] if isinstance(obs, dict) and MASK in obs else infos.get(MASK)
        if mask is not None:
            has = infos.get(f"_{MASK}", np.True_)  # which sub-environments have the one of infos
            legal[has] = joined_mask(mask, legal.size, "both seats of all games").reshape(legal.shape)[has]
            legal[:, self._starts] |= ~np.logical_or.reduceat(legal, self._starts, -1)
        self.legal[games] = legal.reshape(self.legal.shape)[games]
        self._check_seen(self._obs)
        return self._obs

    def _flat(self, obs: Any, count: int) -> F32:  # noqa: ANN401
        """Some observations, [count, width]."""
        with error_context(lambda: f"seats see what is not in {one_line(self._sees)}"):
            flat = flattened(self._sees, obs if self._key is None else obs[self._key], count)
            return flat.reshape(count, self.obs_width - 2)
