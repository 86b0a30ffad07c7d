"""Our controllers in libmelee's hands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from melee import Button

from envs.melee.controller import BUTTONS

if TYPE_CHECKING:
    import numpy as np

_BUTTONS: Final = tuple((1 << bit, Button(name)) for bit, name in enumerate(BUTTONS))
_NOTHING: Final = (0.0, 0.0, 0.0, 0.0, 0.0, 0)


class Pad:
    """One port that we play. What does not change is not sent again: Dolphin holds it."""

    def __init__(self, controller: Any) -> None:  # noqa: ANN401 # melee.Controller
        self.controller = controller
        self._held: tuple[Any, ...] = _NOTHING

    def hold(self, inputs: np.void) -> None:
        """Press, and let go, what makes the controller this CONTROLLER record."""
        wanted: Any = inputs.item()
        if wanted == self._held:
            return
        main_x, main_y, c_x, c_y, shoulder, buttons = wanted
        controller, held = self.controller, self._held
        if (main_x, main_y) != held[:2]:
            controller.tilt_analog_unit(Button.BUTTON_MAIN, main_x, main_y)
        if (c_x, c_y) != held[2:4]:
            controller.tilt_analog_unit(Button.BUTTON_C, c_x, c_y)
        if shoulder != held[4]:
            controller.press_shoulder(Button.BUTTON_L, shoulder)
        changed = buttons ^ held[5]
        if changed:
            for bit, button in _BUTTONS:
                if changed & bit:
                    (controller.press_button if buttons & bit else controller.release_button)(button)
        self._held = wanted

    def release(self) -> None:
        """Let go of everything, whoever pressed it."""
        self.controller.release_all()
        self._held = _NOTHING

    def flush(self) -> None:
        """Let Dolphin read what was pressed; it waits for this on every port before it plays a frame."""
        self.controller.flush()
