"""Whether the game that Dolphin plays is the one that it was told to play."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from envs.errors import DolphinError
from envs.melee.dolphin.roster import CHARACTERS
from envs.melee.slp.layout import FIRST_FRAME
from envs.melee.slp.start import CPU, STAGES
from envs.melee.tables import STAGES as STAGE_NUMBERS

if TYPE_CHECKING:
    from envs.melee.dolphin.frames import FrameReader
    from envs.melee.dolphin.roster import Seat


def check_game(reader: FrameReader, ports: tuple[int, int], seats: Sequence[Seat], stage: str) -> None:
    """Whether a game that has just begun is the one that was asked for.

    Args:
        reader: Of its first frames.
        ports: That were asked for, from 1.
        seats: Who was.
        stage: By name.

    Raises:
        DolphinError: it is not; says what was asked for and what came.
    """
    start = reader.start
    if start is None or reader.first != FIRST_FRAME:
        raise DolphinError(f"the game began at frame {reader.first}, not at {FIRST_FRAME}")
    if tuple(port.port for port in start.ports) != tuple(port - 1 for port in ports):
        began = ", ".join(str(port.port + 1) for port in start.ports)
        raise DolphinError(f"the game began with ports {began}, {ports[0]}, {ports[1]} were asked for")
    number = STAGES.get(start.stage, -1)
    if number != STAGE_NUMBERS[stage]:
        raise DolphinError(f"the game began on {_name(STAGE_NUMBERS, number)}, {stage} was asked for")
    characters = reader.state.players["character"][0].tolist()
    for seat, port, character in zip(seats, start.ports, characters, strict=True):
        if not seat.person and character != seat.character:
            raise DolphinError(
                f"the game began with {_name(CHARACTERS, character)} on port {port.port + 1}, "
                f"{_name(CHARACTERS, seat.character)} was asked for"
            )
        if (port.kind == CPU) != (seat.cpu_level > 0):
            kind = "a computer player" if port.kind == CPU else "no computer player"
            raise DolphinError(f"the game began with {kind} on port {port.port + 1}")


def _name(names: dict[str, int], number: int) -> str:
    return next((name for name, value in names.items() if value == number), f"number {number}")
