"""Fault-tolerant self-play training. ``import selfplay`` does not import torch; attributes are loaded lazily."""

import concurrent.futures.thread  # noqa: F401  (after the main thread has ended it cannot be imported, and torch does)
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from selfplay.api import Run as Run
    from selfplay.api import evaluate as evaluate
    from selfplay.api import train as train
    from selfplay.checkpoint import Checkpoint as Checkpoint
    from selfplay.checkpoint import load_checkpoint as load_checkpoint
    from selfplay.config.ppo import Config as Config
    from selfplay.games.plugins import allow as allow
    from selfplay.games.text_game import TextGame as TextGame
    from selfplay.league.external_games import ratings as ratings
    from selfplay.league.matchmaker import Candidate as Candidate
    from selfplay.policy.policy import Policy as Policy
    from selfplay.policy.policy import load_policy as load_policy
    from selfplay.report.trackers.tracker import Tracker as Tracker

_HOMES = {
    "Candidate": "selfplay.league.matchmaker",
    "Config": "selfplay.config.ppo",
    "Run": "selfplay.api",
    "TextGame": "selfplay.games.text_game",
    "Tracker": "selfplay.report.trackers.tracker",
    "allow": "selfplay.games.plugins",
    "evaluate": "selfplay.api",
    "ratings": "selfplay.league.external_games",
    "train": "selfplay.api",
    "Checkpoint": "selfplay.checkpoint",
    "load_checkpoint": "selfplay.checkpoint",
    "Policy": "selfplay.policy.policy",
    "load_policy": "selfplay.policy.policy",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name == "__version__":
        from selfplay.distribution import version

        return version()
    if name not in _HOMES:
        raise AttributeError(f"module 'selfplay' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
