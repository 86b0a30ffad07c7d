"""Public interface for your own games: base classes, errors, and the check of a game. Does not import torch.

``Game`` is one game in plain Python, the simplest way; ``ArrayGame`` many as NumPy arrays, the fastest. ``VectorGame``
and ``ScriptedGame`` are what a trainer needs of a block of games. See docs/trainer/environments.md. Attributes are
loaded lazily.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selfplay.games.api import ActionSpec as ActionSpec
    from selfplay.games.api import ScriptedGame as ScriptedGame
    from selfplay.games.api import StepBatch as StepBatch
    from selfplay.games.api import VectorGame as VectorGame
    from selfplay.games.array_game import ArrayGame as ArrayGame
    from selfplay.games.check import check_game as check_game
    from selfplay.games.errors import ActionError as ActionError
    from selfplay.games.errors import ContractError as ContractError
    from selfplay.games.errors import EnumerationError as EnumerationError
    from selfplay.games.errors import GameError as GameError
    from selfplay.games.game import Action as Action
    from selfplay.games.game import Game as Game
    from selfplay.games.game import Player as Player
    from selfplay.games.plain import kind_of as kind_of
    from selfplay.games.solved.rules_kind import kind_of_rules as kind_of_rules
    from selfplay.games.solved.table import Rules as Rules
    from selfplay.games.vector import SyncVectorGame as SyncVectorGame

_HOMES = {
    **dict.fromkeys(("ActionSpec", "ScriptedGame", "StepBatch", "VectorGame"), "api"),
    **dict.fromkeys(("ActionError", "ContractError", "EnumerationError", "GameError"), "errors"),
    **dict.fromkeys(("Action", "Game", "Player"), "game"),
    "ArrayGame": "array_game",
    "SyncVectorGame": "vector",
    "check_game": "check",
    "kind_of": "plain",
    "kind_of_rules": "solved.rules_kind",
    "Rules": "solved.table",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _HOMES:
        raise AttributeError(f"module 'selfplay.games' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"selfplay.games.{_HOMES[name]}"), name)
