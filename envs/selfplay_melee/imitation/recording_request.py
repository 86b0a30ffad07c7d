"""Arguments of a recording, checked before torch is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from selfplay.errors import ConfigError
from selfplay_melee.bot_names import NAMES


def check_recording(players: Sequence[object], games: int) -> None:
    """Refuse a recording without a player or a game (ConfigError)."""
    if not players:
        raise ConfigError(f"at least one player is needed, --bot or --policy (scripted: {', '.join(NAMES)})")
    if games < 1:
        raise ConfigError(f"--games {games}: at least 1 is needed")
