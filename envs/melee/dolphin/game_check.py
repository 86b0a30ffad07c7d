"""Check that Dolphin plays the game that was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envs.errors import DolphinError
from envs.melee.dolphin.roster import CHARACTERS
from envs.melee.slp.layout import FIRST_FRAME
from envs.melee.slp.start import CPU, STAGES, TIMER_S
from envs.melee.state import STOCKS
from envs.melee.tables import STAGES as STAGE_NUMBERS

if TYPE_CHECKING:
    from envs.melee.dolphin.frames import FrameReader
    from envs.melee.dolphin.roster import Seat
    from envs.melee.slp.start import Start


def check_game(reader: FrameReader, ports: tuple[int, int], seats: Sequence[Seat], stage: str) -> None:
    """Check that a game that has just begun is the one that was asked for.

    Args:
        reader: Of its first frames.
        ports: Expected ports, from 1.
        seats: Expected players.
        stage: Expected stage, by name.

    Raises:
        DolphinError: it is not; names the expected and the actual value.
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
    for wrong in _rules(start, stage):
        raise DolphinError(f"the game began with {wrong}; set the game's rules back, or use another build or disc")
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


def _rules(start: Start, stage: str) -> Iterator[str]:
    """Differences from tournament rules, which policies and the mock use: actual and expected values."""
    stocks = [port.stocks for port in start.ports]
    if start.mode != "stock" or set(stocks) != {STOCKS}:
        yield f"{start.mode} mode and {', '.join(map(str, stocks))} stocks, stock mode and {STOCKS} were asked for"
    if start.timer_s != TIMER_S:
        timer = f"a timer of {start.timer_s} s" if start.timer_s else "no timer"
        yield f"{timer}, one of {TIMER_S} s was asked for"
    if start.items:
        yield "items, none were asked for"
    if stage == "pokemon_stadium" and not start.frozen_stadium:
        yield "a stadium that changes, a frozen one was asked for (Slippi 3.19 and newer have it)"


def _name(names: dict[str, int], number: int) -> str:
    return next((name for name, value in names.items() if value == number), f"number {number}")
