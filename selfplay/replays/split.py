"""Splits games into training and validation sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from selfplay.errors import ConfigError
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.replays.games import Game


def split(
    games: Sequence[Game], seed: int, folds: int = 10, fold: int = 0
) -> tuple[tuple[Game, ...], tuple[Game, ...]]:
    """Training games and validation games: every ``folds``-th game of an order given by seed and content.

    All frames and seats of a game are on the same side. Paths and the order of ``games`` do not matter. Over all folds
    each game validates once. A single game is used for training.

    Raises:
        ConfigError: ``folds`` is less than 2, or ``fold`` is out of range.
    """
    if folds < 2 or not 0 <= fold < folds:
        raise ConfigError(f"folds must be at least 2 and fold from 0 to folds - 1, got {folds} and {fold}")
    ranked = sorted(games, key=lambda game: (derive(seed, "imitation", "split", game.hash), game.hash))
    if len(ranked) == 1:
        return tuple(ranked), ()
    train = tuple(game for i, game in enumerate(ranked) if i % folds != fold)
    return train, tuple(ranked[fold::folds])
