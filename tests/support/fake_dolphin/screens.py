"""Where things stand on the select screens, in units of the game. Source: libmelee, menuhelper.py and enums.py."""

from __future__ import annotations

from typing import Final

from selfplay_melee.tables import CHARACTERS, STAGES
from tests.support.fake_dolphin.config import NUM_PORTS

WIDTH, HEIGHT = 36.0, 25.0  # how far from the middle a hand on the character select screen gets
STAGE_WIDTH, STAGE_HEIGHT = 27.0, 19.0  # and the cursor on the stage select screen

# Places of the character select screen, row by row, by internal character.
ROSTER: Final = (
    *(0x15, 0x00, 0x11, 0x05, 0x09, 0x0E, 0x03, 0x02, 0x19),  # Dr. Mario to Ganondorf
    *(0x16, 0x01, 0x08, 0x0A, 0x04, 0x0D, 0x13, 0x06, 0x14),  # Falco to Young Link
    *(0x17, 0x0C, 0x0F, 0x10, 0x18, 0x12, 0x1A),  # Pichu to Roy
)
_COLUMNS: Final = 9
NOWHERE: Final = 0x19  # no place
_LEFT, _BOTTOM, _BOX = -32.5, 1.0, 7.0
ZELDA, SHEIK = 0x13, 0x07  # Sheik has no place: Zelda, with A held while the game loads
_PLAYABLE: Final = frozenset(CHARACTERS.values())
CHOOSABLE: Final = frozenset(i for i, c in enumerate(ROSTER) if c in _PLAYABLE or (c == ZELDA and SHEIK in _PLAYABLE))

# Icons of the stage select screen.
RANDOM_STAGE: Final = 0x1D
ICONS: Final = {
    STAGES["battlefield"]: (1.0, -9.0),
    STAGES["final_destination"]: (6.7, -9.0),
    STAGES["dreamland"]: (12.5, -9.0),
    STAGES["pokemon_stadium"]: (15.0, 3.5),
    STAGES["yoshis_story"]: (3.5, 15.5),
    STAGES["fountain_of_dreams"]: (10.0, 15.5),
    RANDOM_STAGE: (-13.5, 3.5),
}
_ICON_HALF: Final = 2.8

# Below the roster, of every port: who plays (a person, a computer player), and the slider of its level.
_TOGGLE: Final = (-31.8, -2.2)  # of the first port
_SLIDER: Final = (-30.9, -15.12)
_PORT_STEP: Final = 15.45
_REACH: Final = (3.0, 2.0)


def place_at(x: float, y: float) -> int | None:
    """The place of the roster at a point; the last row has one box less at both ends."""
    column, row = int((x - _LEFT) // _BOX), 2 - int((y - _BOTTOM) // _BOX)
    if not (0 <= row < 3 and 0 <= column < _COLUMNS):
        return None
    place = row * _COLUMNS + column - (row == 2)
    return place if row * _COLUMNS <= place < len(ROSTER) else None


def toggle_at(x: float, y: float) -> int | None:
    """The port, 0..3, whose kind of player can be changed at a point."""
    return _port_at(x, y, _TOGGLE)


def slider_at(x: float, y: float) -> int | None:
    """The port, 0..3, whose slider is at a point."""
    return _port_at(x, y, _SLIDER)


def _port_at(x: float, y: float, first: tuple[float, float]) -> int | None:
    for port in range(NUM_PORTS):
        if abs(x - first[0] - _PORT_STEP * port) < _REACH[0] and abs(y - first[1]) < _REACH[1]:
            return port
    return None


def start_of(port: int) -> tuple[float, float]:
    """Where the hand of a port is at first."""
    return -30.37 + _PORT_STEP * port, -0.61


def icon_at(x: float, y: float) -> int | None:
    """The stage whose icon is at a point of the stage select screen."""
    for stage, (icon_x, icon_y) in ICONS.items():
        if abs(x - icon_x) < _ICON_HALF and abs(y - icon_y) < _ICON_HALF:
            return stage
    return None
