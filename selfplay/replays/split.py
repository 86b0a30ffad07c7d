"""Which games train and which ones validate."""

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
    """Games to train on, and games to validate on: every ``folds``-th of an order that seed and contents give.

    A game is on one side with all of its frames and seats. Paths and the order of ``games`` do not matter, and both
    sides come back in the order that seed and contents give. Over all folds every game validates once; a game that is
    alone trains.

    Raises:
        ConfigError: ``folds`` is less than 2, or ``fold`` is not one of them.
    """
    if folds < 2 or not 0 <= fold < folds:
        raise ConfigError(f"folds must be at least 2 and fold from 0 to folds - 1, got {folds} and {fold}")
    ranked = sorted(games, key=lambda game: (derive(seed, "imitation", "split", game.hash), game.hash))
    if len(ranked) == 1:
        return tuple(ranked), ()
    train = tuple(game for i, game in enumerate(ranked) if i % folds != fold)
    return train, tuple(ranked[fold::folds])
