"""Base of blocks with two seats that Python steps: checks of actions, the ``random`` player, and scores."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from envs.api import F32, PAYOFF_STATS, Actions, ActionSpec, Bool
from envs.errors import ActionError, GameError
from envs.snapshots import copied
from envs.splitmix import words

RANDOM: Final = "random"
"""The scripted player that every game has: uniform over the legal actions."""
_BOTS: Final = np.uint64(0x5C21B7ED)  # sets their random numbers apart from the seeds of episodes
SEED_BITS: Final = np.uint64(33)  # bits dropped from a word: C code takes seeds below 2^31


class Block:
    """The part of ``ScriptedGame`` that does not depend on how a game is stepped. B games, P = 2 seats."""

    num_seats: Final = 2
    stats_dtype: Final = PAYOFF_STATS
    outsider: Final = None

    def __init__(self, num_games: int, obs_width: int, actions: ActionSpec, players: tuple[str, ...] = ()) -> None:
        self.num_games = num_games
        self.obs_width = obs_width
        self.actions = actions
        self.bot_names = (RANDOM, *players)
        self.bots = np.full((num_games, 2), -1, np.int8)
        self.notes: list[str] = []
        self._starts = actions.starts
        self._waiting = np.isin(np.arange(actions.logits), self._starts)  # one legal action, 0 in each part
        shape = (num_games, 2)
        self.legal: Bool = np.zeros((*shape, actions.logits), np.bool_)
        self._obs = np.zeros((*shape, obs_width), np.float32)
        self._final_obs = np.zeros_like(self._obs)
        self._seeds = np.zeros(num_games, np.uint64)
        self._episode = np.zeros(num_games, np.uint64)
        self._steps = np.zeros(num_games, np.int64)
        self._return = np.zeros(shape)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        return copied(self._parts())

    def kill(self) -> bool:
        """Nothing to end by force: the games live in this process."""
        return False

    def _parts(self) -> dict[str, NDArray[Any]]:
        """State arrays for snapshots; the state inside games that Python steps is unknown."""
        return {"seeds": self._seeds, "episode": self._episode, "steps": self._steps}

    def _seed(self, b: int) -> int:
        """Seed of the current episode of game ``b``."""
        return int(words(self._seeds[b : b + 1], self._episode[b : b + 1])[0] >> SEED_BITS)

    def _chosen(self, actions: Actions, acts: Bool | None) -> Actions:
        """Copy of the actions [B, P, A] of all seats; a seat that does not act plays its first legal action.

        Raises:
            ActionError: not an action, or one that the seat does not have now.
        """
        if acts is not None:
            actions = np.where(acts[..., None], actions, self.actions.first_highest(self.legal))
        actions = self._checked(actions)
        for b, seat in np.argwhere(self.bots >= 0).tolist():
            legal = self.legal[b, seat]
            decides = self.actions.choices(legal)
            actions[b, seat] = self._bot_action(b, seat) if decides else self.actions.first_highest(legal)
        return actions

    def _bot_action(self, b: int, seat: int) -> NDArray[np.integer[Any]]:
        """Legal action of the scripted player of a seat."""
        legal = self.legal[b, seat]
        return self.actions.first_highest(np.where(legal, self._rng(b, seat).random(legal.shape), -1.0))

    def _rng(self, b: int, seat: int) -> np.random.Generator:
        """Generator of the scripted player of a seat for this step, seeded by seed, episode, step and seat."""
        number = np.array(2 * self._steps[b] + seat, np.uint64)
        stream = words(words(self._seeds[b : b + 1] ^ _BOTS, self._episode[b : b + 1]), number)
        return np.random.Generator(np.random.Philox(key=stream[0]))

    def _finite(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rewards [B, P] of a step.

        Raises:
            GameError: they are no numbers.
        """
        if not np.isfinite(rewards).all():
            b = int(np.argwhere(~np.isfinite(rewards))[0, 0])
            raise GameError(f"game {b}: step {self._steps[b]} gave the rewards {rewards[b].tolist()}")
        return rewards

    def _standing(self) -> tuple[F32, NDArray[np.void]]:
        """Score and stats [B, P] of episodes that end now: who has the larger sum of rewards has won."""
        score = (np.sign(self._return - self._return[:, ::-1]) + 1) / 2
        stats = np.zeros((self.num_games, 2), PAYOFF_STATS)
        stats["frames"], stats["reward_payoff"] = self._steps[:, None], self._return
        return score.astype(np.float32), stats

    def _checked(self, actions: Actions) -> Actions:
        """A copy of the actions [B, P, A], all of them legal now or of seats that scripted players have."""
        whole, allowed = self.actions.checked(actions, self.legal)
        wrong = ~allowed & (self.bots < 0)[..., None]
        if wrong.any():
            b, seat, part = np.argwhere(wrong)[0].tolist()
            first = int(self._starts[part])
            valid = np.flatnonzero(self.legal[b, seat, first : first + self.actions.sizes[part]])
            raise ActionError(
                f"game {b}, seat {seat}: {actions[b, seat, part]:g} in part {part} of the action is not legal now "
                f"(valid: {', '.join(map(str, valid))})"
            )
        return whole.astype(np.int8)
