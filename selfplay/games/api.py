"""The contract of a simultaneous-move game that steps many copies at once.

Letters in shapes: B games of a block, P seats, D observation features, A action heads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from selfplay.games.errors import ActionError

F32 = NDArray[np.float32]
Bool = NDArray[np.bool_]
Actions = NDArray[np.signedinteger[Any]]
Seeds = NDArray[np.uint64]
MOST_CHOICES: Final = 1 << 15  # values of a part of an action
PAYOFF_STATS: Final = np.dtype([("frames", "i4"), ("reward_payoff", "f8")])
"""Statistics of a seat in an episode of a plain game: its steps, and the sum of the seat's rewards."""


def action_dtype(sizes: Iterable[int]) -> np.dtype[np.signedinteger[Any]]:
    """Type of the numbers of an action: int8, or int16 where a part has more than 128 values."""
    return np.dtype(np.int8 if max(sizes, default=0) <= 1 << 7 else np.int16)


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """Heads of one action: ``binary`` independent buttons first, then one categorical per entry of ``sizes``.

    ``rest`` is the neutral class of each categorical, or -1 if a new policy shall prefer none.
    """

    binary: int
    sizes: tuple[int, ...]
    rest: tuple[int, ...]

    @property
    def width(self) -> int:
        """Integers in one action."""
        return self.binary + len(self.sizes)

    @property
    def logits(self) -> int:
        """Logits that a policy gives: one a button, one a class of each categorical."""
        return self.binary + sum(self.sizes)

    @property
    def dtype(self) -> np.dtype[np.signedinteger[Any]]:
        """Type of the numbers of an action."""
        return action_dtype(self.sizes)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first logit of each categorical."""
        return self.binary + np.cumsum((0, *self.sizes))[:-1]

    def checked(self, actions: Actions, legal: Bool) -> tuple[NDArray[np.int64], Bool]:
        """Actions [..., width] of categoricals as whole numbers, and which of them ``legal`` [..., logits] allows."""
        shape = (*legal.shape[:-1], self.width)
        if not isinstance(actions, np.ndarray) or actions.shape != shape or actions.dtype.kind not in "biuf":
            got = getattr(actions, "shape", type(actions).__name__)
            raise ActionError(f"actions must be whole numbers of shape {shape} (games, seats, parts), got {got}")
        with np.errstate(invalid="ignore"):  # not a number is no action either
            whole = np.nan_to_num(actions, nan=-1, posinf=-1, neginf=-1).astype(np.int64)
        known = (whole == actions) & (whole >= 0) & (whole < np.array(self.sizes))
        return whole, known & np.take_along_axis(legal, self.starts + np.where(known, whole, 0), -1)

    def choices(self, legal: Bool) -> Bool:
        """Return True where a mask ``legal`` [..., logits] leaves more than one action, bool [...]."""
        several: Bool = np.count_nonzero(legal, axis=-1) > len(self.sizes)
        return several

    def first_highest(self, logits: NDArray[Any]) -> Actions:
        """No button, and the class of each categorical whose logit [..., logits] is the highest, [..., width].

        Of a mask of what is legal: the first legal action.
        """
        dtype = self.dtype
        parts: list[Actions] = [np.zeros((*logits.shape[:-1], self.binary), dtype)]
        categoricals = zip(self.starts.tolist(), self.sizes, strict=True)
        parts += [logits[..., a : a + n].argmax(-1, keepdims=True).astype(dtype) for a, n in categoricals]
        return np.concatenate(parts, -1)


@dataclass(slots=True)
class StepBatch:
    """Result of one step of a block of games. All arrays belong to the game and are valid until its next step.

    ``obs`` is the first observation of the new episode where one ended; ``final_obs`` is then the last one of
    the ended episode (rows of games that did not end are unspecified). ``score`` is valid where the episode
    ended: 1 a win, 0.5 a draw, 0 a loss.
    """

    obs: F32  # [B, P, D]
    reward: F32  # [B, P]
    terminated: Bool  # [B] the game itself ended
    truncated: Bool  # [B] a limit that we imposed ended it
    final_obs: F32  # [B, P, D]
    score: F32  # [B, P]
    stats: NDArray[np.void]  # [B, P] structured, see the game; valid where the episode ended

    @property
    def ended(self) -> Bool:
        """[B] games whose episode ended in this step."""
        return self.terminated | self.truncated


class VectorGame(Protocol):
    """All games of a block step together; finished games are reset in the same step.

    The seed of a game's next episode follows from (its seed, its episode number), so that a block of B games
    equals B blocks of one, bit for bit.
    """

    @property
    def num_games(self) -> int:
        """B."""

    @property
    def num_seats(self) -> int:
        """P."""

    @property
    def obs_width(self) -> int:
        """D."""

    @property
    def actions(self) -> ActionSpec:
        """Buttons and categoricals of an action."""

    @property
    def legal(self) -> Bool | None:
        """Mask of the legal choices by logit, bool [B, P, logits], for the current observations; None: all are legal.

        Each categorical has at least one legal class, for every seat. A seat with one legal action decides nothing:
        such a step is not trained on, and its reward belongs to the decision before.
        """

    def reset(self, seeds: Seeds) -> F32:
        """Restart every game, one seed per game; first observations [B, P, D]."""

    def step(self, actions: Actions, acts: Bool | None = None) -> StepBatch:
        """Every seat acts once: ``actions`` [B, P, A] of the type that ``ActionSpec.dtype`` says.

        ``acts`` [B, P] marks the seats that decide in this step, by default all. The actions of the others are ignored:
        their controls stay as they are, or, in a game without controls, they play their first legal action. After an
        ActionError nothing has changed.
        """

    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        """Copies of everything that the future depends on."""

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> F32:
        """Continue from a snapshot; the observations [B, P, D] that were current then."""


class ScriptedGame(VectorGame, Protocol):
    """A game that can play seats itself: ``bots[b, s]`` is the index of a scripted player, or -1."""

    @property
    def outsider(self) -> int | None:
        """The seat of a person, or of a computer player of the game's own, in every game; None where there is none."""

    @property
    def bots(self) -> NDArray[np.int8]:
        """[B, P], written by the code that seats players."""

    @property
    def bot_names(self) -> tuple[str, ...]:
        """Scripted players by index."""

    @property
    def stats_dtype(self) -> np.dtype[Any]:
        """Type of ``StepBatch.stats``."""

    @property
    def notes(self) -> list[str]:
        """Messages for the user; reading clears them."""

    def kill(self) -> bool:
        """End a process of its own by force; False where it has none."""

    def close(self) -> None:
        """Release all resources."""
