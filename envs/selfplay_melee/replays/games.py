"""Metadata of replay files, known before their examples are loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, Field

from selfplay.imitation import recordings
from selfplay.imitation.recordings import MAX_NAME, plain_name
from selfplay_melee.slp.scan import MAX_FRAMES
from selfplay_melee.slp.start import NUM_PORTS, recordable
from selfplay_melee.state import NUM_SEATS
from selfplay_melee.tables import CHARACTERS, STAGES

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay

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
class Game(recordings.Game):
    """A game with at least one selected seat; the hash is the sha256 of its file."""

    seats: tuple[SeatInfo, ...]
    stage: str


def is_player(player: str, port: int, name: str, code: str) -> bool:
    """Return True if a seat with this port (from 0), display name and connect code matches ``player``.

    "1" to "4" are ports. Anything else is a connect code or a name, compared without case, width of letters, and blanks
    around it.
    """
    if player in _PORTS:
        return port == _PORTS.index(player)
    wanted = plain_name(player)
    return plain_name(name) in (wanted, plain_name(recordable(player))) or (code != "" and plain_name(code) == wanted)


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
