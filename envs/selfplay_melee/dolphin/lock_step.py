"""Play the countdown of a game and remove input latency: inputs sent after frame N then take effect on frame N+1.

The number of unread flushes when a game begins varies with the build and by chance. Each delays inputs by a frame,
sometimes those of one port only, since Dolphin reads its pipes in turn. So the sticks are moved during the countdown,
where that has no effect, and the delay is measured. If inputs are late, nothing is sent until no frame comes; then the
ports in time are flushed alone, once per frame that another port is late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from selfplay_melee.errors import DolphinError
from selfplay_melee.state import CONTROLLER, records

if TYPE_CHECKING:
    from selfplay_melee.dolphin.emulator import Emulator

PULSES: Final = (-110, -90, -70)  # frames after which a stick is moved to measure the delay
LATEST: Final = 12  # maximum measured delay in frames
_QUIET_S: Final = 0.25  # without a message until Dolphin counts as waiting for inputs


def count_down(emulator: Emulator, seats: Sequence[tuple[int, int]]) -> None:
    """Play the frames before 0, in which players cannot act.

    A build that does not report inputs that early must stop sending when it waits.

    Args:
        emulator: In a game that has just begun.
        seats: Seats whose sticks are moved, with the index of each pad.

    Raises:
        DolphinError: the game ended, or inputs stay late.
    """
    always = {place for _, place in seats}
    for pulse in PULSES:
        late = _lateness(emulator, pulse, seats)
        always &= {place for place in late if late[place]}
        least, most = min(late.values(), default=0), max(late.values(), default=0)
        if most == 0 or emulator.reader.frame >= 0:
            break
        emulator.settle(_QUIET_S)
        for frames in range(least, most):
            emulator.flush([emulator.pads[place] for place in late if late[place] <= frames])
            emulator.settle(_QUIET_S)
        if emulator.reader.end is not None:
            raise _ended(emulator)
        if least == LATEST:
            break
    else:
        ports = ", ".join(str(emulator.pads[place].controller.port) for place in sorted(always or late))
        raise DolphinError(f"inputs arrive {most} frames late on port {ports}")
    while emulator.reader.frame < 0:
        _advance(emulator)


def _lateness(emulator: Emulator, pulse: int, seats: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Delay in frames of an input after frame ``pulse``, by pad; ``LATEST`` if it is never seen."""
    neutral, right = records(CONTROLLER, 2)  # all 0 is hands off
    right["main_x"] = 1.0
    while emulator.reader.frame < pulse:
        _advance(emulator)
    found = {place: LATEST for _, place in seats}
    for late in range(LATEST):
        for place in found:
            emulator.pads[place].hold(neutral if late else right)
        _advance(emulator)
        sticks = emulator.reader.state.controllers["main_x"][0]
        found |= {place: late for seat, place in seats if sticks[seat] > 0.5 and found[place] == LATEST}
        if LATEST not in found.values():
            break
    for place in found:
        emulator.pads[place].hold(neutral)
    return found


def _advance(emulator: Emulator) -> None:
    if not emulator.advance():
        raise _ended(emulator)


def _ended(emulator: Emulator) -> DolphinError:
    return DolphinError(f"the game ended at frame {emulator.reader.frame}, before it had begun")
