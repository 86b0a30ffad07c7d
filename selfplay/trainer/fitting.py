"""Which settings a game has no use for: given explicitly they are refused, else they are ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from envs.registry import find_game
from selfplay.config import OPTIONS
from selfplay.errors import ConfigError
from selfplay.trainer.command_line import flag_of
from selfplay.trainer.live import check_live

if TYPE_CHECKING:
    from collections.abc import Mapping

    from selfplay.config import Config

FIGHTS_ONLY: Final = (
    "game.", "reward.", "net.rest", "league.scripted", "league.held_out", "league.track_elo", "league.rating_share",
    "league.gate",
)  # fmt: skip
"""Beginnings of the settings of characters, frames, scripted players and ratings."""
LIVE_ONLY: Final = ("game.dolphin", "game.iso", "emulator.")
"""Beginnings of the settings of emulators."""


def check_fit(config: Config, explicit: Mapping[str, object]) -> None:
    """Refuse settings of emulators where the game needs none, and settings of fights where it is none.

    Raises:
        ConfigError: one of ``explicit``, what the user set by dotted name, is such a setting; or the policy would have
            a memory; or see ``check_live``.
    """
    game = find_game(config.game.type)
    if game.live:
        check_live(config, explicit)
        return
    for path in explicit:
        if path.startswith(LIVE_ONLY):
            flag = flag_of(OPTIONS, path)
            raise ConfigError(f"{flag} goes with --game-type dolphin; --game-type {config.game.type} has no use for it")
    if game.fighter:
        return
    if config.net.backbone != "mlp":
        raise ConfigError(
            f"--backbone {config.net.backbone}: --game-type {config.game.type} is judged exactly, state by state, "
            "which only a policy without memory can be (mlp)"
        )
    for path in explicit:
        if path.startswith(FIGHTS_ONLY) and path != "game.type":
            flag = flag_of(OPTIONS, path)
            raise ConfigError(f"{flag} is a setting of fights; --game-type {config.game.type} has no use for it")
