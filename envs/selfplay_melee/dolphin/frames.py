"""GameState from the events of a running game, frame by frame, as the replay reader does for whole files.

Dolphin sends what it writes into replay files, so the layout and the meaning of every field are those of ``slp``.
libmelee decodes the same bytes; ``conversions`` says where its numbers differ.

Of a frame that is sent again (rollback) the first version counts, since seats acted on it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from selfplay_melee.errors import DolphinError
from selfplay_melee.slp import columns, layout
from selfplay_melee.slp.layout import FRAME_HEAD, PLAYER_HEAD, Field, Version
from selfplay_melee.slp.start import STAGES as INTERNAL_STAGES
from selfplay_melee.slp.start import End, Start, read_end, read_start
from selfplay_melee.state import CONTROLLER, NUM_SEATS, PLAYER, GameState

MENU: Final = 0x3E  # command of a frame of a menu
OLDEST: Final = (3, 8, 0)  # the first version with hitlag
_NO_FRAME: Final = -(1 << 30)
_FLAG_BYTE, _FLAG_BIT = columns.HITSTUN_FLAG


def _reader(fields: Sequence[Field], names: Sequence[str]) -> Callable[[bytes, int], tuple[float, ...]]:
    """A function that unpacks some fields of an event at the offset of its command byte, in file order."""
    code, at = ">", 0
    for f in sorted((f for f in fields if f.name in names), key=lambda f: f.offset):
        base = np.dtype(f.type)
        count = int(np.prod(base.shape)) if base.shape else 1
        code += f"{f.offset - at}x{count if base.shape else ''}{'s' if base.shape else base.char}"
        at = f.offset + base.itemsize
    return struct.Struct(code).unpack_from


# The fields of an event that a PLAYER and a CONTROLLER are made of, in the order in which they stand in the event.
_POST_NAMES: Final = tuple(
    f.name
    for f in (*PLAYER_HEAD, *layout.POST_FIELDS)
    if f.name in {"frame", "port", "follower", *columns.SAME.values(), "flags", "misc", "airborne", "hurtbox_state"}
)
_PRE_NAMES: Final = (
    *("frame", "port", "follower", "main_x", "main_y", "c_x", "c_y", "trigger"),
    *("processed_buttons", "physical_buttons"),
)
_read_post: Final = _reader((*PLAYER_HEAD, *layout.POST_FIELDS), _POST_NAMES)
_read_pre: Final = _reader((*PLAYER_HEAD, *layout.PRE_FIELDS), _PRE_NAMES)
_read_fountain: Final = _reader((*FRAME_HEAD, *layout.FOUNTAIN_FIELDS), ("frame", "platform", "height"))
_read_frame: Final = _reader(FRAME_HEAD, ("frame",))
_AT: Final = {name: i for i, name in enumerate(_POST_NAMES)}
# PLAYER column -> place of its field in what was unpacked; the three that are worked out come from elsewhere.
_COLUMNS: Final = tuple(_AT[columns.SAME[name]] if name in columns.SAME else -1 for name in PLAYER.names or ())
_HITSTUN, _ON_GROUND, _INVULNERABLE = (
    (PLAYER.names or ()).index(name) for name in ("hitstun", "on_ground", "invulnerable")
)
_NEEDED: Final = {
    layout.PRE_FRAME: layout.size_of(layout.PRE_FIELDS, OLDEST),
    layout.POST_FRAME: layout.size_of(layout.POST_FIELDS, OLDEST),
    layout.FRAME_BOOKEND: layout.size_of(layout.BOOKEND_FIELDS, OLDEST),
}


class FrameReader:
    """Reads the events of one game after another.

    ``state`` is of the last whole frame, ports in rising order on its seats. ``start`` is of the game in progress, or
    of the last one, as is ``first``, the number of its first frame. ``games`` is the number of games begun, ``frames``
    the number of frames of all games. ``end`` is that of the last game that has ended; callers may reset it to None.
    """

    def __init__(self) -> None:
        self.state = GameState.zeros(1)
        self.start: Start | None = None
        self.end: End | None = None
        self.version: Version = (0, 0, 0)
        self.frame = _NO_FRAME
        self.first: int | None = None
        self.games = 0
        self.frames = 0
        self._sizes: dict[int, int] = {}
        self._seats: dict[int, int] = {}  # by port
        self._pre: list[tuple[float, ...]] = [()] * NUM_SEATS
        self._post: list[tuple[float, ...]] = [()] * NUM_SEATS
        self._heights = list(columns.FIRST_HEIGHTS)  # of the Fountain's platforms, as recorded: left, right

    def feed(self, data: bytes) -> bool | None:
        """Read the events of one message.

        Returns:
            True if they complete a new frame, False if they complete one that was sent before, None for no frame.

        Raises:
            DolphinError: bytes that are no whole events, a version that is too old, or not two players.
        """
        at, result = 0, None
        try:
            while at < len(data):
                command = data[at]
                if command == MENU:
                    break  # Dolphin sometimes sends menus as events of a game
                size = self._declare(data, at) if command == layout.EVENT_PAYLOADS else self._sizes[command]
                if at + 1 + size > len(data):
                    raise DolphinError(f"Dolphin sent a part of an event 0x{command:02x}")
                if command == layout.POST_FRAME:
                    self._player(self._post, _read_post(data, at))
                elif command == layout.PRE_FRAME:
                    self._player(self._pre, _read_pre(data, at))
                elif command == layout.FRAME_BOOKEND:
                    result = self._complete(int(_read_frame(data, at)[0]))
                elif command == layout.FOUNTAIN:
                    _, platform, height = _read_fountain(data, at)
                    self._heights[0 if platform == layout.LEFT_PLATFORM else 1] = height
                elif command == layout.GAME_START:
                    self._begin(data[at : at + 1 + size])
                elif command == layout.GAME_END:
                    first, second = sorted(self._seats)
                    self.end = read_end(data[at : at + 1 + size], self.version, (first, second))
                at += 1 + size
        except (KeyError, IndexError, struct.error) as error:
            raise DolphinError(f"Dolphin sent what are no events of a game: {error!r}") from error
        return result

    def _declare(self, data: bytes, at: int) -> int:
        """Read the table of sizes, which opens a game; returns its own size."""
        length = data[at + 1]
        self._sizes = dict(struct.iter_unpack(">BH", data[at + 2 : at + 1 + length]))
        return length

    def _begin(self, event: bytes) -> None:
        self.version = (event[1], event[2], event[3])
        if self.version < OLDEST:
            raise DolphinError(
                f"Slippi {'.'.join(map(str, self.version))} is too old, {'.'.join(map(str, OLDEST))} or newer is "
                "needed: update Dolphin"
            )
        small = [command for command, size in _NEEDED.items() if self._sizes.get(command, -1) < size]
        if small:
            raise DolphinError(f"Dolphin declares events 0x{small[0]:02x} that lack fields")
        self.start = read_start(event, self.version)
        if len(self.start.ports) != NUM_SEATS:
            raise DolphinError(f"a game of {len(self.start.ports)} players began, {NUM_SEATS} were asked for")
        self._seats = {port.port: seat for seat, port in enumerate(self.start.ports)}
        self._pre, self._post = [()] * NUM_SEATS, [()] * NUM_SEATS
        self._heights = list(columns.FIRST_HEIGHTS)
        self.frame, self.first = _NO_FRAME, None
        self.games += 1
        game = self.state.game
        game["stage"] = INTERNAL_STAGES.get(self.start.stage, -1)
        game["fountain_given"] = self.version >= (3, 18, 0) and game["stage"][0] == columns.FOUNTAIN_STAGE
        game["fountain_left"] = game["fountain_right"] = np.nan

    def _player(self, events: list[tuple[float, ...]], event: tuple[float, ...]) -> None:
        """Store an event of a player; of the two Ice Climbers the first counts."""
        _, port, follower = event[:3]
        if not follower:
            events[self._seats[int(port)]] = event

    def _complete(self, frame: int) -> bool:
        """Handle a complete frame; whether it is a new one."""
        if frame <= self.frame:
            return False
        if any(not event or event[0] != frame for event in (*self._pre, *self._post)):
            raise DolphinError(f"Dolphin sent frame {frame} without the events of both players")
        self.frame = frame
        self.frames += 1
        if self.first is None:
            self.first = frame
        state = self.state
        for seat in range(NUM_SEATS):
            state.players[0, seat] = _player_row(self._post[seat])
            state.controllers[0, seat] = _controller_row(self._pre[seat])
        state.game["frame"] = frame
        if state.game["fountain_given"][0]:
            state.game["fountain_left"], state.game["fountain_right"] = (
                columns.FLOOR + columns.SCALE * h for h in self._heights
            )
        return True


def _player_row(post: tuple[float, ...]) -> tuple[float, ...]:
    """PLAYER from the result of ``_read_post``; see ``columns.player_columns``."""
    row = [post[i] for i in _COLUMNS]
    flags: bytes = post[_AT["flags"]]  # type: ignore[assignment]
    row[_HITSTUN] = post[_AT["misc"]] if flags[_FLAG_BYTE] & _FLAG_BIT else 0.0
    row[_ON_GROUND] = post[_AT["airborne"]] == 0
    row[_INVULNERABLE] = post[_AT["hurtbox_state"]] != 0
    return tuple(row)


def _controller_row(pre: tuple[float, ...]) -> tuple[float, ...]:
    """CONTROLLER from the result of ``_read_pre``; see ``columns.controller_columns``."""
    processed, physical = int(pre[8]), int(pre[9])
    implied = columns.BITS["A"] if physical & columns.BITS["Z"] else 0
    return *pre[3:8], int(columns.BUTTON_ORDER[(physical | (processed & ~implied)) & 0xFFF])


if CONTROLLER.names != ("main_x", "main_y", "c_x", "c_y", "shoulder", "buttons"):
    raise TypeError("the columns of CONTROLLER are not in the order in which they are read")
