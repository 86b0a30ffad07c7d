"""Recorded games, known before they are loaded, and their split into games to learn from and to judge by. No torch."""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, TypeVar

from selfplay.errors import ConfigError
from selfplay.seeding import derive

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.imitation.batches import Examples

Progress = Callable[[int, int], None]

MAX_NAME: Final = 64  # letters of a player's name that are kept
_MAX_LISTED: Final = 20  # names of players in a message


class Seat(Protocol):
    """A seat of a recorded game."""

    @property
    def seat(self) -> int:
        """Its number."""

    @property
    def rows(self) -> int:
        """Usable decisions."""


AnySeat = TypeVar("AnySeat", bound=Seat)


@dataclass(frozen=True, slots=True)
class Game:
    """A game with at least one selected seat."""

    path: Path
    hash: str  # of its content
    seats: tuple[Seat, ...]  # the selected ones

    @property
    def rows(self) -> int:
        """Usable decisions of the selected seats."""
        return sum(seat.rows for seat in self.seats)


AnyGame = TypeVar("AnyGame", bound=Game)


class Recordings(ABC):
    """The recorded games in a folder or file, and what of it cannot be used. ``player`` selects seats; None: all."""

    what: ClassVar[str]  # the place holds, in messages

    def __init__(self, folder: Path, player: str | None) -> None:
        self.folder = folder
        self.games: Sequence[Game] = ()
        self.bad: list[tuple[Path, str]] = []  # unusable games, with the reason
        self.duplicates = 0  # files with the same content as an earlier one
        self.unwanted = 0  # games without a selected seat
        self.cache_trouble = ""  # reason of the last failed write to a cache
        self._player = player
        self._others: set[str] = set()  # names of players in those games

    @abstractmethod
    def scan(self, progress: Progress = lambda done, total: None) -> Sequence[Game]:
        """Find the games, at least one. ``progress(done, total)`` is called before each one and at the end."""

    @abstractmethod
    def load(self, game: Game) -> list[Examples]:
        """The examples of the selected seats of a game, in the order of ``game.seats``."""

    def _selected(
        self, seats: Sequence[AnySeat], wants: Callable[[AnySeat], bool], name: Callable[[AnySeat], str]
    ) -> tuple[AnySeat, ...]:
        """The seats that are wanted; counts a game without any."""
        selected = tuple(filter(wants, seats))
        if not selected:
            self.unwanted += 1
            self._others |= {*map(name, seats)}
        return selected

    def _nothing(self, count: int, *wanted: str) -> ConfigError:
        """The error of a scan that finds no game among ``count``; ``wanted`` is what a player had to be or do."""
        parts = [f"{self.folder}: no game that can be used in {count} {self.what}"]
        if self.bad:
            path, reason = self.bad[0]
            parts.append(f"{len(self.bad)} cannot be read or learned from (the first is {path.name}: {reason})")
        if self.unwanted:
            is_player = [] if self._player is None else [f"is player {self._player!r}{self._valid()}"]
            parts.append(f"in {self.unwanted} of them nobody {' and '.join((*wanted, *is_player))}")
        return ConfigError("; ".join(parts))

    def _valid(self) -> str:
        names = sorted(self._others - {""})
        listed = ", ".join(names[:_MAX_LISTED]) + ", ..." * (len(names) > _MAX_LISTED)
        return f" (valid: {listed})" if names else ""


def plain_name(name: str) -> str:
    """A player's name without case, width of letters, and blanks around it, by which names are compared."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def split(games: Sequence[AnyGame], seed: int, folds: int) -> tuple[tuple[AnyGame, ...], tuple[AnyGame, ...]]:
    """Training games and validation games: every ``folds``-th game of an order given by seed and content.

    All frames and seats of a game are on the same side. Paths and the order of ``games`` do not matter. A single game
    is used for training.
    """
    ranked = sorted(games, key=lambda game: (derive(seed, "imitation", "split", game.hash), game.hash))
    if len(ranked) == 1:
        return tuple(ranked), ()
    train = tuple(game for i, game in enumerate(ranked) if i % folds)
    return train, tuple(ranked[::folds])
