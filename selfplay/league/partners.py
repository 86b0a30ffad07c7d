"""What players of a game of words were paid, by who sat opposite: means with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict

from selfplay.league.chance import Z95
from selfplay.league.records import ladder_key

if TYPE_CHECKING:
    from selfplay.league.games import Floats, Games, Ints


class Cell(BaseModel):
    """What a player was paid with one partner, itself or another, or against one opponent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    partner: str
    reward: float  # mean
    interval: float | None  # half width at 95%, games of one state and two players taken together; None: one state
    games: int


def reward_cells(games: Games) -> dict[str, tuple[Cell, ...]]:
    """By player, the player itself first, then the others by name and age.

    Games with a partner whose weights were since replaced are left out.
    """
    paid = games.paid
    if paid is None:
        return {}
    seats, direct = games.seats, paid.partners < 0
    latest = dict(zip(games.seats.ravel().tolist(), games.versions.ravel().tolist(), strict=True))
    stale = [
        not alone and latest.get(partner, version) != version
        for partner, version, alone in zip(paid.partners.tolist(), paid.versions.tolist(), direct.tolist(), strict=True)
    ]
    keep = ~np.array(stale, dtype=np.bool_)
    found: dict[str, dict[str, Cell]] = {}
    for mine, player in enumerate(games.players):
        rewards, partners, states = [], [], []
        for side in range(2):
            of_mine = keep & (seats[:, side] == mine)
            rewards.append(paid.rewards[of_mine, side])
            partners.append(np.where(direct, seats[:, 1 - side], paid.partners)[of_mine])
            states.append(games.pairs[of_mine])
        found[player] = _cells(games.players, np.concatenate(rewards), np.concatenate(partners), np.concatenate(states))
    return {
        player: tuple(sorted(cells.values(), key=lambda cell: (cell.partner != player, ladder_key(cell.partner))))
        for player, cells in found.items()
        if cells
    }


def _cells(players: tuple[str, ...], rewards: Floats, partners: Ints, states: Ints) -> dict[str, Cell]:
    cells = {}
    for partner in np.unique(partners).tolist():
        chosen = partners == partner
        paid, mean = rewards[chosen], float(rewards[chosen].mean())
        _, where = np.unique(states[chosen], return_inverse=True)
        sums = np.bincount(where, paid - mean)
        error = float(np.sqrt((sums**2).sum() * len(sums) / max(len(sums) - 1, 1))) / len(paid)
        interval = Z95 * error if len(sums) > 1 else None
        cells[players[partner]] = Cell(partner=players[partner], reward=mean, interval=interval, games=len(paid))
    return cells
