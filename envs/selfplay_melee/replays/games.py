"""Metadata of replay files, known before their examples are loaded, and their split into training and validation."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, Field

from selfplay.errors import ConfigError
from selfplay.seeding import derive
from selfplay_melee.slp.scan import MAX_FRAMES
from selfplay_melee.slp.start import NUM_PORTS, recordable
from selfplay_melee.state import NUM_SEATS
from selfplay_melee.tables import CHARACTERS, STAGES

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay_melee.replay import Replay

MAX_NAME: Final = 64  # letters of a player's name that are kept
MAX_REASON: Final = 400

_PORTS: Final = tuple(str(port + 1) for port in range(NUM_PORTS))
_CHARACTER_NAMES: Final = {number: name for name, number in CHARACTERS.items()}
_STAGE_NAMES: Final = {number: name for name, number in STAGES.items()}


class SeatInfo(BaseModel, frozen=True, extra="forbid"):
    """The player of a seat, and the number of usable decisions."""

    seat: int = Field(ge=0, lt=NUM_SEATS)
    port: int = Field(ge=0, lt=NUM_PORTS)  # from 0; the command line counts from 1
    character: Annotated[str, Field(max_length=MAX_NAME)]  # at the start; "character 19" where there is no table
    name: Annotated[str, Field(max_length=MAX_NAME)]  # "" if none is recorded
    code: Annotated[str, Field(max_length=MAX_NAME)]  # connect code, likewise
    rows: int = Field(ge=0, le=MAX_FRAMES)


class Note(BaseModel, frozen=True, extra="forbid"):
    """The game in a file, or the reason why it cannot be used."""

    stage: Annotated[str, Field(max_length=MAX_NAME)] = ""
    seats: tuple[SeatInfo, ...] = Field(default=(), max_length=NUM_SEATS)
    bad: Annotated[str, Field(max_length=MAX_REASON)] = ""


@dataclass(frozen=True, slots=True)
class Game:
    """A game with at least one selected seat."""

    path: Path
    hash: str  # sha256 of the file
    stage: str
    seats: tuple[SeatInfo, ...]  # the selected ones

    @property
    def rows(self) -> int:
        return sum(seat.rows for seat in self.seats)


def is_player(player: str, port: int, name: str, code: str) -> bool:
    """Return True if a seat with this port (from 0), display name and connect code matches ``player``.

    "1" to "4" are ports. Anything else is a connect code or a name, compared without case, width of letters, and blanks
    around it.
    """
    if player in _PORTS:
        return port == _PORTS.index(player)
    wanted = _plain(player)
    return _plain(name) in (wanted, _plain(recordable(player))) or (code != "" and _plain(code) == wanted)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


def note_of(replay: Replay, rows: tuple[int, ...]) -> Note:
    """The note of a replay; ``rows`` are the decisions of each seat, and the stage must have a table."""
    seats = tuple(
        SeatInfo(
            seat=i,
            port=seat.port,
            character=_CHARACTER_NAMES.get(seat.character, f"character {seat.character}"),
            name=seat.name[:MAX_NAME],
            code=seat.code[:MAX_NAME],
            rows=rows[i],
        )
        for i, seat in enumerate(replay.seats)
    )
    return Note(stage=_STAGE_NAMES[replay.stage], seats=seats)


def split(
    games: Sequence[Game], seed: int, folds: int = 10, fold: int = 0
) -> tuple[tuple[Game, ...], tuple[Game, ...]]:
    """Training games and validation games: every ``folds``-th game of an order given by seed and content.

    All frames and seats of a game are on the same side. Paths and the order of ``games`` do not matter. Over all folds
    each game validates once. A single game is used for training.

    Raises:
        ConfigError: ``folds`` is less than 2, or ``fold`` is out of range.
    """
    if folds < 2 or not 0 <= fold < folds:
        raise ConfigError(f"folds must be at least 2 and fold from 0 to folds - 1, got {folds} and {fold}")
    ranked = sorted(games, key=lambda game: (derive(seed, "imitation", "split", game.hash), game.hash))
    if len(ranked) == 1:
        return tuple(ranked), ()
    train = tuple(game for i, game in enumerate(ranked) if i % folds != fold)
    return train, tuple(ranked[fold::folds])
