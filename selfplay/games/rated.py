"""What ratings and evaluation need of a game: its scripted players, and how a block of matches is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

MAX_DELAY: Final = 60  # frames from seeing to acting, in fights
LEDGE_GRAB_LIMIT: Final = 60  # of fights, see ``MeleeGame``
ENDED_BY: Final = ("stocks", "timer", "cap")
"""Endings of a fight, by their number in its stats."""
FINISHED: Final = 0
"""Number, in the stats of a fight, of the ending in which a player is out of stocks: the fight was finished."""


@dataclass(frozen=True, slots=True)
class ScriptedPlayer:
    """A scripted player of a game, or a computer player of its own."""

    version: str  # differs between players of the same name
    frame_skip: int = 1  # frames between two decisions
    any_frame_skip: bool = False  # whether steps of any length suit it


FORBID: Final = {"extra": "forbid"}
"""Of pydantic, which checks policy files: unknown names in a body are errors."""


class Body(Protocol):
    """What a policy file says of the games that its policy was trained for, beyond the name of the game.

    A frozen dataclass.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def frame_skip(self) -> int:
        """Frames between two decisions."""

    @property
    def delay(self) -> int:
        """Frames between an observation and its action."""


@dataclass(frozen=True, slots=True)
class NoBody:
    """The body of policies of a game without settings of its own: each step is a decision."""

    __pydantic_config__: ClassVar = FORBID

    @property
    def frame_skip(self) -> int:
        return 1

    @property
    def delay(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class Matches:
    """G matches that share a block of games."""

    characters: list[list[str]]  # [G][2]
    delays: list[list[int]]  # [G][2] frames from seeing to acting
    frame_skip: int  # the longest step that suits all players; 0: any
    stage: str
    max_episode_frames: int
    ledge_grab_limit: int


@dataclass(frozen=True, slots=True)
class RatedGame:
    """How matches of a game are played and recorded. Who wins is told by ``StepBatch.score``."""

    players: Mapping[str, ScriptedPlayer]  # by their names in ``ScriptedGame.bot_names``
    described: Mapping[str, Any]  # versions of rules and players: only games with equal ones are rated together
    options: Callable[[Matches], dict[str, Any]] = lambda _: {}  # of the game's constructor, JSON-able
    compared: tuple[str, ...] = ()  # settings of matches that must be equal, too
    endings: tuple[str, ...] = ()  # of a fight, by the number in its stats
