"""Fights as rated games: their scripted players, and what policies keep of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from selfplay.games.rated import FORBID, RatedGame, ScriptedPlayer
from selfplay_melee import bot_names
from selfplay_melee.conditions import FightConditions
from selfplay_melee.dolphin.roster import CPU
from selfplay_melee.physics import RULES_VERSION

MELEE: Final = "melee-1.02"  # version of the real game's own players
_VERSION: Final = f"bots-{bot_names.VERSION}"
_BOTS: Final = {name: ScriptedPlayer(_VERSION, bot_names.FRAME_SKIP) for name in bot_names.NAMES} | {
    slow: ScriptedPlayer(_VERSION, bot_names.FRAME_SKIP, delay=bot_names.REACTION, plays_as=name)
    for slow, name in bot_names.SLOW.items()
}
_COMPUTERS: Final = {name: ScriptedPlayer(MELEE, any_frame_skip=True) for name in CPU}


@dataclass(frozen=True, slots=True)
class FightBody:
    """Characters of a policy and its opponent (None: the same), stage, pace and rules of the fights it learned.

    Raises:
        ValueError: a name or a number that no fight can have.
    """

    __pydantic_config__: ClassVar = FORBID

    character: str
    opponent_character: str | None
    stage: str
    max_episode_frames: int
    ledge_grab_limit: int
    frame_skip: int
    delay: int

    def __post_init__(self) -> None:
        for name in (self.character, self.opponent_character or self.character, self.stage):
            if not name.isidentifier():
                raise ValueError(f"{name!r} is no name of a character or a stage")
        if min(self.frame_skip, self.max_episode_frames) < 1 or min(self.delay, self.ledge_grab_limit) < 0:
            raise ValueError("frame_skip and max_episode_frames are at least 1, delay and ledge_grab_limit at least 0")

    @property
    def conditions(self) -> FightConditions:
        characters = (self.character, self.opponent_character or self.character)
        return FightConditions(characters, self.stage, self.max_episode_frames, self.ledge_grab_limit)


MOCK: Final = RatedGame(_BOTS, {"rules": RULES_VERSION, "bots": bot_names.VERSION})
DOLPHIN: Final = RatedGame(_BOTS | _COMPUTERS, {"game": "dolphin", "bots": bot_names.VERSION})
