"""The menus: main menu, character select, stage select and results, as far as libmelee finds its way through them.

Cursors move a little more than a unit a frame. Frames are shown as the 74 bytes of a menu event.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from tests.support.fake_dolphin.config import NUM_PORTS
from tests.support.fake_dolphin.match import Entrant, Match, player_of_level
from tests.support.fake_dolphin.say import say
from tests.support.fake_dolphin.screens import (
    CHOOSABLE,
    HEIGHT,
    NOWHERE,
    ROSTER,
    SHEIK,
    STAGE_HEIGHT,
    STAGE_WIDTH,
    WIDTH,
    ZELDA,
    icon_at,
    place_at,
    slider_at,
    start_of,
    toggle_at,
)

if TYPE_CHECKING:
    from tests.support.fake_dolphin.pads import Pad

MENU_EVENT: Final = 0x3E
_EVENT: Final = struct.Struct(">BH8fBB4B4B4B2fiBBBB4B4Bx")

SPEED: Final = 1.13  # units a frame of a cursor at full tilt; never a sum that stops just on MenuHelper's limits
PEOPLE_CHOOSE: Final = 30  # frame on which those who hold real controllers have chosen
MAIN_MENU, VS_MODE = 0, 2  # submenus
LAST_ENTRY: Final = 4  # of a submenu
VS_ENTRY, MELEE_ENTRY = 1, 0  # the way to the character select screen
FADE: Final = 6  # frames between the choice of a stage and the game


class Scene(IntEnum):
    """Numbers of the scenes."""

    MAIN = 0x0001
    CHARACTERS = 0x0002
    STAGES = 0x0102
    RESULTS = 0x0402


class Status(IntEnum):
    """Who plays at a port."""

    HUMAN = 0
    CPU = 1
    NOBODY = 3


@dataclass(slots=True)
class Slot:
    """A port on the character select screen."""

    plugged: bool
    status: Status
    x: float
    y: float
    place: int | None = None  # in the roster, where the coin lies; None: it is in the hand
    level: int = 1
    slider: bool = False  # the hand holds the slider of the level


class Menus:
    """Where the player is, and what is chosen.

    Args:
        pads: Controllers of pipes, by port.
        people: Ports of real controllers.
        person_character: What those choose, by internal number.
    """

    def __init__(self, pads: Mapping[int, Pad], people: tuple[int, ...], person_character: int) -> None:
        self.scene = Scene.MAIN
        self._pads = pads
        self._people = people
        self._person_character = person_character
        self._frame = -1  # of the scene
        self._submenu = MAIN_MENU
        self._selection = 0
        self._tilted = False  # a stick was out of its rest on the frame before
        self._slots = [_slot(port, port in pads or port in people) for port in range(NUM_PORTS)]
        self._cursor = [0.0, 0.0]
        self._stage: int | None = None
        self._chosen_for = 0  # frames
        self._frozen = False
        self._said: set[str] = set()

    def enter(self, scene: Scene) -> None:
        """Go to a scene; its next frame is number 0."""
        self.scene, self._frame = scene, -1
        self._submenu = self._selection = 0
        self._stage, self._chosen_for = None, 0
        if scene is Scene.STAGES:
            self._cursor = [0.0, 0.0]

    def frame(self) -> Match | None:
        """One frame with the controllers as they are now; a match, once it is to begin.

        The first frame of a scene takes no input.
        """
        self._frame += 1
        if self._frame == 0:
            return None
        if self.scene is Scene.MAIN:
            self._main()
        elif self.scene is Scene.CHARACTERS:
            self._characters()
        elif self.scene is Scene.STAGES:
            return self._stages()
        elif self._any("START"):
            self.enter(Scene.CHARACTERS)
            self._frame = 0
        return None

    def _any(self, button: str) -> bool:
        return any(pad.pressed(button) for pad in self._pads.values())

    def _main(self) -> None:
        y = next((pad.stick[1] for pad in self._pads.values() if abs(pad.stick[1]) > 0.5), 0.0)
        if y and not self._tilted:
            self._selection = (self._selection + (1 if y < 0 else -1)) % (LAST_ENTRY + 1)
        self._tilted = bool(y)
        if self._any("B"):
            self._submenu = self._selection = 0
        elif self._any("A"):
            if self._submenu == MAIN_MENU and self._selection == VS_ENTRY:
                self._submenu, self._selection = VS_MODE, 0
            elif self._submenu == VS_MODE and self._selection == MELEE_ENTRY:
                self.enter(Scene.CHARACTERS)
                self._frame = 0

    def _characters(self) -> None:
        if self._frame == PEOPLE_CHOOSE:
            place = ROSTER.index(ZELDA if self._person_character == SHEIK else self._person_character)
            for port in self._people:
                self._slots[port].place = place
        for port, pad in self._pads.items():
            self._hand(self._slots[port], pad)
        if self._any("START") and self._ready():
            self.enter(Scene.STAGES)
            self._frame = 0

    def _hand(self, slot: Slot, pad: Pad) -> None:
        """What one controller does."""
        x, y = pad.stick
        if slot.slider:
            if pad.pressed("A"):
                slot.slider = False
            elif abs(x) > 0.2 and self._frame % 3 == 0:
                slot.level = min(max(slot.level + (1 if x > 0 else -1), 1), 9)
            return
        slot.x = min(max(slot.x + SPEED * x, -WIDTH), WIDTH)
        slot.y = min(max(slot.y + SPEED * y, -HEIGHT), HEIGHT)
        if pad.pressed("B"):
            slot.place = None
        elif pad.pressed("A"):
            self._press(slot)

    def _press(self, slot: Slot) -> None:
        """A, where the hand is."""
        if (port := toggle_at(slot.x, slot.y)) is not None:
            self._toggle(self._slots[port])
            return
        if (port := slider_at(slot.x, slot.y)) is not None:
            slot.slider = self._slots[port] is slot and slot.status is Status.CPU
            return
        place = place_at(slot.x, slot.y)
        if place is None or slot.place is not None:
            return
        if place in CHOOSABLE:
            slot.place = place
        else:
            self._say(f"there are no tables for character {ROSTER[place]:#04x}: it cannot be chosen")

    def _toggle(self, slot: Slot) -> None:
        """From who is there to a computer player, and back; one of an empty port comes with a character."""
        if slot.status is not Status.CPU:
            slot.status = Status.CPU
            if not slot.plugged:
                places = sorted(CHOOSABLE)
                later = [place for place in places if slot.place is not None and place > slot.place]
                slot.place = (later or places)[0]
        else:
            slot.status = Status.HUMAN if slot.plugged else Status.NOBODY

    def _ready(self) -> bool:
        there = [slot for slot in self._slots if slot.status is not Status.NOBODY]
        return len(there) == 2 and all(slot.place is not None for slot in there)

    def _stages(self) -> Match | None:
        if self._stage is not None:
            self._chosen_for += 1
            return self._match(self._stage) if self._chosen_for >= FADE else None
        x, y = next((pad.stick for pad in self._pads.values() if pad.stick != (0.0, 0.0)), (0.0, 0.0))
        self._cursor[0] = min(max(self._cursor[0] + SPEED * x, -STAGE_WIDTH), STAGE_WIDTH)
        self._cursor[1] = min(max(self._cursor[1] + SPEED * y, -STAGE_HEIGHT), STAGE_HEIGHT)
        if self._any("Z"):
            self._frozen = not self._frozen
        if self._any("A"):
            self._stage = icon_at(*self._cursor)
        elif self._any("B"):
            self.enter(Scene.CHARACTERS)
            self._frame = 0
        return None

    def _match(self, stage: int) -> Match:
        first, second = (
            self._entrant(port, slot) for port, slot in enumerate(self._slots) if slot.status is not Status.NOBODY
        )
        return Match((first, second), stage, self._frozen)

    def _entrant(self, port: int, slot: Slot) -> Entrant:
        character = ROSTER[slot.place or 0]
        if character == ZELDA:
            character = SHEIK
            if not (port in self._pads and self._pads[port].holds("A")) and port not in self._people:
                self._say("there are no tables for Zelda: Sheik plays in her place")
        if slot.status is Status.CPU:
            return Entrant(port, character, player_of_level(slot.level), slot.level)
        return Entrant(port, character)

    def _say(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            say(line)

    def event(self) -> bytes:
        """What is shown of the latest frame."""
        slots = self._slots
        on_stages = self.scene is Scene.STAGES
        return _EVENT.pack(
            MENU_EVENT,
            self.scene,
            *(value for slot in slots for value in (slot.x, slot.y)),
            0 if self.scene is Scene.CHARACTERS and self._ready() else 1,
            (self._stage or icon_at(*self._cursor) or 0) if on_stages else 0,
            *(slot.status for slot in slots),
            *(_shown(slot) for slot in slots),
            *(2 if slot.place is not None else 1 for slot in slots),
            *self._cursor,
            self._frame,
            self._submenu,
            self._selection,
            *(0, 0),  # costume and name entry, of online play only
            *(slot.level for slot in slots),
            *(slot.slider for slot in slots),
        )


def _slot(port: int, plugged: bool) -> Slot:
    return Slot(plugged, Status.HUMAN if plugged else Status.NOBODY, *start_of(port))


def _shown(slot: Slot) -> int:
    """The character that a port shows: that of its coin, else the one under the hand."""
    place = slot.place if slot.place is not None else place_at(slot.x, slot.y)
    return NOWHERE if place is None else place
