"""Public interface for your own games: base classes, errors, and the check of a game. Does not import torch.

``Game`` is one game in plain Python, the simplest way. ``VectorGame`` and ``ScriptedGame`` step a block of games at
once. See docs/environments.md.
"""

from __future__ import annotations

from envs.api import ActionSpec, ScriptedGame, StepBatch, VectorGame
from envs.check import check_game
from envs.errors import ActionError, ContractError, GameError
from envs.game import Action, Game, Player
from envs.vector import SyncVectorGame

__all__ = [
    "Action",
    "ActionError",
    "ActionSpec",
    "ContractError",
    "Game",
    "GameError",
    "Player",
    "ScriptedGame",
    "StepBatch",
    "SyncVectorGame",
    "VectorGame",
    "check_game",
]
