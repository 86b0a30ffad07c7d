"""START in a game: pause, and how to quit from there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.fake_dolphin.pads import Pad


class Pause:
    """START, pressed on or after GO, stops the game behind that frame; pressed once more, it goes on.

    While it stands still, no frame is shown, and controllers are read and flushed all the same. Who presses START
    then and holds L, R and A quits.

    Args:
        pads: Of those who play, by port.
    """

    def __init__(self, pads: Mapping[int, Pad]) -> None:
        self.quit_by: int | None = None  # port
        self._pads = pads
        self._stopped = False

    def stops(self, number: int) -> bool:
        """Whether the next frame is not played; ``number`` is that of the latest. Called with every input."""
        pressed = [port for port, pad in self._pads.items() if pad.pressed("START")]
        if not self._stopped:
            self._stopped = bool(pressed) and number >= 0
            return False
        for port in pressed:
            if self._pads[port].holds("L", "R", "A"):
                self.quit_by = port
        if pressed and self.quit_by is None:
            self._stopped = False
        return self._stopped
