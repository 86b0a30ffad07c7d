"""A player that searches a few plies and chooses among the best moves at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from envs.errors import GameError
from scripts.studies.connect_four.board import Position
from scripts.studies.connect_four.search import COLUMNS, I64, limited_values

if TYPE_CHECKING:
    from envs.game import Player


def values(position: Position, depth: int) -> I64:
    """Value of every move [7] within ``depth`` plies, exact: above 0 wins, the nearer the larger; below 0 loses.

    It is 0 where neither happens within ``depth``, and ILLEGAL for a full column.

    Raises:
        GameError: ``depth`` is below 1.
    """
    if depth < 1:
        raise GameError(f"depth {depth} of the alpha-beta search (valid: 1 or more)")
    found = np.empty(COLUMNS, np.int64)
    limited_values(*position, depth, found)
    return found


def choose(position: Position, depth: int, rng: np.random.Generator) -> int:
    """A column, drawn uniformly from the moves of the largest value."""
    found = values(position, depth)
    return int(rng.choice(np.flatnonzero(found == found.max())))


def player(depth: int) -> Player[Any]:
    """The player as a scripted player of PettingZoo's ``connect_four_v3``, which the game has as ``env``."""

    def act(game: Any, seat: int, rng: np.random.Generator) -> int:  # noqa: ANN401  (a game that wraps an environment)
        return choose(Position.of(game.env.unwrapped.board, seat), depth, rng)

    return act
