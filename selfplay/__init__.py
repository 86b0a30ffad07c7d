"""Supervised self-play training. ``import selfplay`` does not import torch; attributes are loaded lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selfplay.checkpoint import Checkpoint, load_checkpoint
    from selfplay.policy.policy import Policy, load_policy

__all__ = ["Checkpoint", "Policy", "load_checkpoint", "load_policy"]

_HOMES = {
    "Checkpoint": "selfplay.checkpoint",
    "load_checkpoint": "selfplay.checkpoint",
    "Policy": "selfplay.policy.policy",
    "load_policy": "selfplay.policy.policy",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _HOMES:
        raise AttributeError(f"module 'selfplay' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
