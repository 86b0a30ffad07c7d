"""Leaving a game in progress."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from melee import Button

if TYPE_CHECKING:
    from envs.melee.dolphin.emulator import Emulator

ENDING: Final = 1200  # maximum number of frames after a game is decided
QUIT_S: Final = 3.0  # timeout for leaving a game
_BEAT_S: Final = 0.02  # between two inputs to a paused game


def end_game(emulator: Emulator) -> bool:
    """Leave a game in progress: play a decided game to its end, quit any other.

    Returns:
        Whether that worked.

    Raises:
        DolphinError: Dolphin has died, hangs, or sends what cannot be read.
    """
    for pad in emulator.pads:
        pad.release()
    if emulator.reader.end is not None or (emulator.reader.state.players["stocks"] <= 0).any():
        return any(not emulator.advance() for _ in range(ENDING))
    return _quit(emulator)


def _quit(emulator: Emulator) -> bool:
    """Pause, then press L, R, A and start. A paused game sends no frames, so this is timed by the clock."""
    controllers = [pad.controller for pad in emulator.pads]
    controllers[0].press_button(Button.BUTTON_START)
    emulator.flush()
    deadline = time.monotonic() + QUIT_S
    beats = 0
    while time.monotonic() < deadline:
        if emulator.left_game(_BEAT_S):
            return True
        beats += 1
        press = beats > 10 and beats % 10 > 2
        for button in (Button.BUTTON_L, Button.BUTTON_R, Button.BUTTON_A, Button.BUTTON_START):
            (controllers[0].press_button if press else controllers[0].release_button)(button)
        emulator.flush()
    return False
