"""Many games of Connect Four as one block of integers, without the cost of a step of PettingZoo's game.

Train it with ``--game-type scripts.studies.connect_four.block:ConnectFourBlock``. B games.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from envs.api import F32, PAYOFF_STATS, Actions, ActionSpec, Bool, Seeds, StepBatch
from envs.errors import ActionError, GameError
from envs.snapshots import copied, put_back
from envs.vector import RANDOM
from scripts.studies.connect_four.board import Position
from scripts.studies.connect_four.search import BOARD, COLUMNS, FLOOR, FULL, I64, ROWS, SQUARES, STRIDE

_WORD: Final = np.dtype(np.int64)
_TOPS: Final = np.array([1 << STRIDE * c + ROWS - 1 for c in range(COLUMNS)], _WORD)
_COLUMNS: Final = np.array([FULL << STRIDE * c for c in range(COLUMNS)], _WORD)
# Squares row by row from the top, as PettingZoo has them.
_SQUARES: Final = np.array([STRIDE * (i % COLUMNS) + ROWS - 1 - i // COLUMNS for i in range(SQUARES)], _WORD)


class ConnectFourBlock:
    """B games (``ScriptedGame``).

    Observations, legal actions and rewards are those of PettingZoo's game through our adapter, without its two features
    that name the seat. A seat that waits sees zeros and has the one legal action 0.
    """

    num_seats: Final = 2
    obs_width: Final = 2 * SQUARES
    actions: Final = ActionSpec(binary=0, sizes=(COLUMNS,), rest=(-1,))
    bot_names: Final = (RANDOM,)
    stats_dtype: Final = PAYOFF_STATS
    outsider: Final = None

    def __init__(self, num_games: int) -> None:
        if num_games < 1:
            raise GameError("num_games must be at least 1")
        self.num_games = num_games
        self.bots = np.full((num_games, 2), -1, np.int8)
        self.notes: list[str] = []
        self.legal: Bool = np.zeros((num_games, 2, COLUMNS), np.bool_)
        self._rows = np.arange(num_games)
        self._own = np.zeros(num_games, _WORD)  # stones of the side to move
        self._taken = np.zeros(num_games, _WORD)
        self._stones = np.zeros(num_games, np.int64)
        self._random = np.zeros(num_games, np.uint64)  # the state of the random player's draws

    def reset(self, seeds: Seeds) -> F32:
        self._random[:] = seeds
        for part in (self._own, self._taken, self._stones):
            part[:] = 0
        return self._see()

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """See ``VectorGame.step``.

        Raises:
            ActionError: not an action, or one that the seat does not have now; nothing has changed then.
        """
        if acts is not None:
            actions = np.where(acts[..., None], actions, self.actions.first_legal(self.legal))
        whole, allowed = self.actions.checked(actions, self.legal)
        wrong = ~allowed[..., 0] & (self.bots < 0)
        if wrong.any():
            b, seat = np.argwhere(wrong)[0].tolist()
            valid = ", ".join(map(str, np.flatnonzero(self.legal[b, seat])))
            raise ActionError(
                f"game {b}, seat {seat}: column {actions[b, seat, 0]:g} is not legal now (valid: {valid})"
            )
        chosen = whole[..., 0]
        if (self.bots >= 0).any():
            chosen = np.where(self.bots >= 0, self._drawn(), chosen)
        mover = self._stones & 1
        move = (self._taken + FLOOR) & _COLUMNS[chosen[self._rows, mover]]
        moved = self._own | move  # stones of the side that has moved
        self._own = self._taken ^ self._own
        self._taken = self._taken | move
        self._stones = self._stones + 1
        won = np.zeros(self.num_games, np.bool_)
        for shift in (1, STRIDE - 1, STRIDE, STRIDE + 1):
            pairs = moved & moved >> shift
            won |= (pairs & pairs >> 2 * shift) != 0
        over = won | (self._taken == BOARD)
        reward = np.zeros((self.num_games, 2), np.float32)
        reward[self._rows, mover] = won
        reward -= reward[:, ::-1].copy()
        stats = np.zeros((self.num_games, 2), PAYOFF_STATS)
        stats["frames"], stats["reward_payoff"] = self._stones[:, None], reward
        final = np.zeros((self.num_games, 2, self.obs_width), np.float32)
        if over.any():
            for seat in range(2):
                own = np.where(mover == seat, moved, self._own)[over]
                final[over, seat] = _planes(own, self._taken[over] ^ own)
            for part in (self._own, self._taken, self._stones):
                part[over] = 0
        truncated = np.zeros(self.num_games, np.bool_)
        return StepBatch(self._see(), reward, over, truncated, final, (reward + np.float32(1)) / np.float32(2), stats)

    def positions(self) -> list[Position]:
        """The position of each game."""
        return [Position(own, taken) for own, taken in zip(self._own.tolist(), self._taken.tolist(), strict=True)]

    def snapshot(self) -> dict[str, NDArray[Any]]:
        return copied(self._parts())

    def restore(self, arrays: dict[str, NDArray[Any]]) -> F32:
        """See ``VectorGame.restore``.

        Raises:
            GameError: not a snapshot of such a block.
        """
        put_back(self._parts(), arrays)
        return self._see()

    def kill(self) -> bool:
        """Nothing to end by force: the games live in this process."""
        return False

    def close(self) -> None:
        """Nothing to let go of."""

    def _parts(self) -> dict[str, NDArray[Any]]:
        return {"own": self._own, "taken": self._taken, "stones": self._stones, "random": self._random}

    def _see(self) -> F32:
        mover = self._stones & 1
        self.legal[...] = np.arange(COLUMNS) == 0
        self.legal[self._rows, mover] = (self._taken[:, None] & _TOPS) == 0
        obs = np.zeros((self.num_games, 2, self.obs_width), np.float32)
        obs[self._rows, mover] = _planes(self._own, self._taken ^ self._own)
        return obs

    def _drawn(self) -> I64:
        """[B, 2] a legal column for each seat, drawn uniformly; the draws of a game do not depend on other games."""
        draws = np.empty((self.num_games, 2), np.int64)
        for b in np.flatnonzero((self.bots >= 0).any(1)).tolist():
            rng = np.random.Generator(np.random.Philox(key=self._random[b]))
            self._random[b] = rng.integers(2**63)
            draws[b] = [rng.choice(np.flatnonzero(legal)) for legal in self.legal[b]]
        return draws


def _planes(own: I64, other: I64) -> F32:
    """Observations [B, 84]: for each square whether it is one's own, and whether it is the other side's."""
    sides = np.stack([own, other], -1)[:, None, :] >> _SQUARES[:, None] & 1
    return sides.astype(np.float32).reshape(len(own), -1)
