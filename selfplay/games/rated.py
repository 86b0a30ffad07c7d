"""What ratings and evaluation need of a game: its scripted players, and how a block of matches is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

if TYPE_CHECKING:
    import argparse

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ScriptedPlayer:
    """A scripted player of a game, or a computer player of its own."""

    version: str  # differs between players of the same name
    frame_skip: int = 1  # frames between two decisions
    any_frame_skip: bool = False  # whether steps of any length suit it
    delay: int = 0  # frames from seeing to acting
    plays_as: str = ""  # its name in ``ScriptedGame.bot_names``; "": the same


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

    @property
    def conditions(self) -> Conditions:
        """The conditions of matches as the policy was trained for."""


@dataclass(frozen=True, slots=True)
class Matches:
    """G matches that share a block of games."""

    roles: list[tuple[str, ...]]  # of the seats of each, see ``Conditions.roles``
    delays: list[list[int]]  # [G][2] frames from seeing to acting
    frame_skip: int  # the longest step that suits all players; 0: any


class Conditions(Protocol):
    """What matches of a game are played under, beside their players. A frozen dataclass, opaque to the trainer.

    Counters are those of a game's ``stats``, of both players [..., 2].
    """

    @property
    def roles(self) -> Sequence[tuple[str, ...]]:
        """Roles of the first and the other player, such as characters, in the games of one meeting; none is empty."""

    def described(self) -> dict[str, Any]:
        """What ledgers keep of them, JSON-able: only games with equal ones are rated together."""

    def options(self, matches: Matches) -> dict[str, Any]:
        """Arguments of the constructor of a block of games, JSON-able."""

    def scores(self, stats: NDArray[np.void], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of the first player [...], where ``scores`` are those that the game gave."""

    def facts(self, roles: tuple[str, ...], stats: NDArray[np.void]) -> dict[str, Any]:
        """The game's own figures in the record of a game, JSON-able."""

    def figures(self, stats: NDArray[np.void]) -> dict[str, Any]:
        """Its own figures of an evaluation, JSON-able, from the counters [G, 2] of all games."""

    def words(self, figures: Mapping[str, Any]) -> Sequence[str]:
        """These figures in words: a part of the line on games won, then lines of their own."""

    def __str__(self) -> str:
        """In a few words; empty for a game that has only one kind of matches."""


@dataclass(frozen=True, slots=True)
class NoConditions:
    """The conditions of matches of a plain game."""

    @property
    def roles(self) -> Sequence[tuple[str, ...]]:
        return ((),)

    def described(self) -> dict[str, Any]:
        return {}

    def options(self, matches: Matches) -> dict[str, Any]:
        return {}

    def scores(self, stats: NDArray[np.void], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores

    def facts(self, roles: tuple[str, ...], stats: NDArray[np.void]) -> dict[str, Any]:
        return {}

    def figures(self, stats: NDArray[np.void]) -> dict[str, Any]:
        return {}

    def words(self, figures: Mapping[str, Any]) -> Sequence[str]:
        return ()

    def __str__(self) -> str:
        return ""


NO_CONDITIONS: Final = NoConditions()


class MatchFlags(Protocol):
    """Flags by which a person chooses the conditions of matches."""

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Add them to the parser of a verb."""

    def chosen(self, options: argparse.Namespace) -> Callable[[Conditions], Conditions]:
        """Check what was given; returns what puts it in the place of the conditions of training.

        Raises:
            ConfigError: a value that cannot be.
            GameError: an unknown name.
        """


class NoFlags:
    """Those of a plain game."""

    def add(self, parser: argparse.ArgumentParser) -> None:
        pass

    def chosen(self, options: argparse.Namespace) -> Callable[[Conditions], Conditions]:
        return lambda trained: trained


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

    @property
    def conditions(self) -> Conditions:
        return NO_CONDITIONS


@dataclass(frozen=True, slots=True)
class RatedGame:
    """The scripted players of a game, and what makes its rated games comparable beside their conditions."""

    players: Mapping[str, ScriptedPlayer]  # by name
    described: Mapping[str, Any]  # versions of rules and players: only games with equal ones are rated together
