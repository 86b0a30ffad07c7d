"""Through the countdown of a game, so that what is held after frame N is the input of frame N+1 from then on.

How many flushes wait unread when a game begins depends on the build: each makes inputs arrive a frame later. So a stick
is moved where that has no effect, and where it comes too late nothing is sent until nothing comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from envs.errors import DolphinError
from envs.melee.state import CONTROLLER, records

if TYPE_CHECKING:
    from envs.melee.dolphin.emulator import Emulator

PULSES: Final = (-110, -90, -70)  # frames after which a stick is moved to see when that arrives
LATEST: Final = 12  # frames after a pulse in which it is looked for
_QUIET_S: Final = 0.25  # without a message, where nothing else tells that Dolphin waits for us


def count_down(emulator: Emulator, seat: int | None, place: int | None) -> None:
    """Play the frames before 0, in which nobody can act.

    A build that does not show inputs so early is trusted to fall silent when it waits.

    Args:
        emulator: In a game that has just begun.
        seat: Whose stick is moved, and
        place: of its pad; None: nobody's.

    Raises:
        DolphinError: the game ended, or inputs stay late.
    """
    for pulse in PULSES:
        late = 0 if seat is None or place is None else _lateness(emulator, pulse, seat, place)
        if late == 0 or emulator.reader.frame >= 0:
            break
        emulator.settle(_QUIET_S)
        if emulator.reader.end is not None:
            raise _ended(emulator)
        if late is None:
            break
    else:
        raise DolphinError(f"inputs arrive {late} frames late")
    while emulator.reader.frame < 0:
        _advance(emulator)


def _lateness(emulator: Emulator, pulse: int, seat: int, place: int) -> int | None:
    """Frames by which an input after frame ``pulse`` comes too late; None where it is not seen at all."""
    neutral, right = records(CONTROLLER, 2)  # all 0 is hands off
    right["main_x"] = 1.0
    pad = emulator.pads[place]
    while emulator.reader.frame < pulse:
        _advance(emulator)
    pad.hold(right)
    for late in range(LATEST):
        _advance(emulator)
        pad.hold(neutral)
        if emulator.reader.state.controllers["main_x"][0, seat] > 0.5:
            return late
    return None


def _advance(emulator: Emulator) -> None:
    if not emulator.advance():
        raise _ended(emulator)


def _ended(emulator: Emulator) -> DolphinError:
    return DolphinError(f"the game ended at frame {emulator.reader.frame}, before it had begun")
