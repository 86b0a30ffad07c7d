"""Fights as rated games: their scripted players and options."""

from __future__ import annotations

from typing import Any, Final

from envs.melee import bot_names
from envs.melee.dolphin.roster import CPU
from envs.melee.physics import RULES_VERSION
from envs.rated import ENDED_BY, Matches, RatedGame, ScriptedPlayer

MELEE: Final = "melee-1.02"  # version of the real game's own players
_BOTS: Final = {name: ScriptedPlayer(f"bots-{bot_names.VERSION}", bot_names.FRAME_SKIP) for name in bot_names.NAMES}
_COMPUTERS: Final = {name: ScriptedPlayer(MELEE, any_frame_skip=True) for name in CPU}


def _options(matches: Matches) -> dict[str, Any]:
    return {
        "characters": matches.characters,
        "stage": matches.stage,
        "frame_skip": matches.frame_skip or bot_names.FRAME_SKIP,
        "bot_skip": bot_names.FRAME_SKIP,
        "delay": matches.delays,
        "max_episode_frames": matches.max_episode_frames,
        "ledge_grab_limit": matches.ledge_grab_limit,
    }


MOCK: Final = RatedGame(_BOTS, {"rules": RULES_VERSION, "bots": bot_names.VERSION}, _options, ENDED_BY)
DOLPHIN: Final = RatedGame(_BOTS | _COMPUTERS, {"game": "dolphin", "bots": bot_names.VERSION}, _options, ENDED_BY)
