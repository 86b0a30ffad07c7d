"""Policies for commands that only work with fights."""

from __future__ import annotations

from pathlib import Path

from selfplay.errors import ConfigError
from selfplay.games.registry import find_game
from selfplay.policy.played_game import game_of
from selfplay.policy.policy import Policy, load_policy
from selfplay_melee.kinds import MOCK


def load_fighter(path: str | Path) -> Policy:
    """``load_policy`` for commands that only work with fights, such as watching and recording.

    Raises:
        ConfigError: it plays another game.
        CheckpointError: see ``load_policy``.
    """
    policy = load_policy(path)
    game = game_of(policy.meta)
    if find_game(game).shares != MOCK.shares:
        raise ConfigError(f"{path} plays {game}; a policy of a fighting game is needed here")
    return policy
