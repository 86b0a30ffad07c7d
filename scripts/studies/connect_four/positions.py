"""How many of a player's moves keep the value of the position, by the number of stones on the board.

Positions in which all moves have the same value say nothing about a player and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np

from scripts.studies.connect_four.board import Choose, Position, play
from scripts.studies.connect_four.search import SQUARES
from selfplay.league.statistics import ScoreInterval, score_interval

if TYPE_CHECKING:
    from scripts.studies.connect_four.solver import Solver

FEWEST: Final = 8  # stones; positions of fewer take seconds to solve
GROUP: Final = 4


@dataclass(frozen=True, slots=True)
class Share:
    """The moves of positions with ``fewest`` to ``most`` stones."""

    fewest: int
    most: int
    positions: int  # whose moves differ in value
    left_out: int  # whose moves do not
    optimal: ScoreInterval  # share of the player's moves that keep the value
    random: float  # expected share of a player who moves at random


def collect(pairs: Sequence[tuple[Choose, Choose]]) -> list[list[Position]]:
    """The positions of a game between the players of each pair, in which a move is chosen.

    Positions with fewer than ``FEWEST`` stones are left out, and those that an earlier game had.
    """
    seen: set[Position] = set()
    games = []
    for first, second in pairs:
        new = [each for each in play(first, second) if each.stones >= FEWEST and not each.over and each not in seen]
        seen.update(new)
        games.append(new)
    return games


def share_of_optimal(
    choose: Choose, games: Sequence[Sequence[Position]], solver: Solver, group: int = GROUP
) -> list[Share]:
    """The share of moves that keep the game-theoretic value, with 95% intervals, by the number of stones.

    Args:
        choose: The player. It is asked in every position, whoever was to move there.
        games: Positions of each game. Those of one game resemble each other, which widens the intervals.
        solver: Solves them.
        group: Numbers of stones that count together; SQUARES gives one share of all positions.

    Raises:
        GameError: the player chooses a full column.
    """
    shares = []
    for fewest in range(0, SQUARES, group):
        most = min(fewest + group, SQUARES) - 1
        labels: list[int] = []
        kept: list[bool] = []
        chance: list[float] = []
        left_out = 0
        for label, position in ((i, each) for i, game in enumerate(games) for each in game):
            if not fewest <= position.stones <= most:
                continue
            values = solver.values(position)
            best = np.flatnonzero(values == values.max())
            if len(best) == len(position.legal):
                left_out += 1
                continue
            column = choose(position)
            position.after(column)  # refuses a full column
            labels.append(label)
            kept.append(column in best)
            chance.append(len(best) / len(position.legal))
        if kept:
            shares.append(Share(fewest, most, len(kept), left_out, score_interval(kept, labels), fmean(chance)))
    return shares
