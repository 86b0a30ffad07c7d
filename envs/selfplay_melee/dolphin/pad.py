"""Controllers that we play, on top of libmelee's.

In menus libmelee's functions press buttons. In a game only changes are written to the same pipe, for speed: Dolphin
holds the rest.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from melee import Button
from melee.controller import fix_analog_stick, fix_analog_trigger

from selfplay_melee.controller import BUTTONS

if TYPE_CHECKING:
    import numpy as np

_Held = tuple[float, float, float, float, float, int]  # a CONTROLLER record
_NOTHING: Final[_Held] = (0.0, 0.0, 0.0, 0.0, 0.0, 0)
_PRESS: Final = tuple((1 << bit, f"PRESS {name}\n", f"RELEASE {name}\n") for bit, name in enumerate(BUTTONS))
_FLUSH: Final = "FLUSH\n"


class Pad:
    """Controller of one port."""

    def __init__(self, controller: Any) -> None:  # noqa: ANN401 # melee.Controller
        self.controller = controller
        self._held = _NOTHING
        self._words = ""

    def hold(self, inputs: np.void) -> None:
        """Set the state for the next ``write``: a CONTROLLER record."""
        wanted: Any = inputs.item()
        if wanted != self._held:
            self._words += _changes(self._held, wanted)
            self._held = wanted

    def write(self) -> None:
        """Write the changes to Dolphin.

        Raises:
            BrokenPipeError: it no longer reads.
        """
        self.controller.pipe.write(self._words)
        self.controller.pipe.flush()
        self._words = ""

    def flush(self) -> None:
        """Flush; Dolphin waits for this on every port before it plays a frame.

        Raises:
            BrokenPipeError: it no longer reads.
        """
        self.controller.pipe.write(_FLUSH)
        self.controller.pipe.flush()

    def release(self) -> None:
        """Release everything, including buttons that libmelee pressed."""
        self.controller.release_all()
        self._held, self._words = _NOTHING, ""


@lru_cache(maxsize=1 << 14)
def _changes(held: _Held, wanted: _Held) -> str:
    """Commands that change a controller from ``held`` to the wanted state."""
    words = []
    if wanted[:2] != held[:2]:
        words.append(_stick(Button.BUTTON_MAIN, *wanted[:2]))
    if wanted[2:4] != held[2:4]:
        words.append(_stick(Button.BUTTON_C, *wanted[2:4]))
    if wanted[4] != held[4]:
        words.append(f"SET {Button.BUTTON_L.value} {fix_analog_trigger(wanted[4])}\n")
    changed = held[5] ^ wanted[5]
    words.extend(press if wanted[5] & bit else release for bit, press, release in _PRESS if changed & bit)
    return "".join(words)


@lru_cache(maxsize=1 << 12)
def _stick(stick: Button, x: float, y: float) -> str:
    """Command for a stick at -1..1, as libmelee formats it."""
    across, up = fix_analog_stick((x + 1) / 2), fix_analog_stick((y + 1) / 2)
    return f"SET {stick.value} {across} {up}\n"
