"""The start and end events of a game."""

from __future__ import annotations

import struct
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from selfplay.games.files import printable
from selfplay_melee.slp.layout import END_FIELDS, GAME_END, GAME_START, size_of
from selfplay_melee.state import STOCKS

if TYPE_CHECKING:
    from selfplay_melee.slp.layout import Version


NUM_PORTS: Final = 4
HUMAN, CPU, DEMO, EMPTY = range(4)

STAGE_OFFSET: Final = 0x13
MODE_OFFSET, MODES = 0x5, ("time", "stock", "coin", "bonus")  # in the upper three bits; the timer in the lower two
COUNTING_DOWN: Final = 2
ITEMS_OFFSET, NO_ITEMS = 0x10, -1
TIMER_OFFSET: Final = 0x15
TIMER_S: Final = 480
PLAYERS_OFFSET: Final = 0x65
NUM_SLOTS: Final = 6  # of which four are ports
PLAYER_BYTES: Final = 0x24
_NAMES: Final = ((0x1A5, 0x1F, (3, 9, 0)), (0x161, 0x10, (1, 3, 0)))  # display names, name tags: offset, bytes, since
_FULL_WIDTH_HASH: Final = b"\x81\x94"
_CODES: Final = (0x221, 0xA, (3, 9, 0))  # connect codes, likewise
PAL_OFFSET, PAL_SINCE = 0x1A1, (1, 5, 0)
FROZEN_OFFSET, FROZEN_SINCE = 0x1A2, (2, 0, 0)

# Of a player: character, kind, stocks and costume; looks; the level of a computer player; the ratios.
_SLOT: Final = ">4BxBxxBxBxBxBB4x4xfff"
# Bytes behind the command byte, as the event grew.
START_BYTES: Final[dict[Version, int]] = {
    (1, 0, 0): 0x160,
    (1, 3, 0): 0x1A0,
    (1, 5, 0): 0x1A1,
    (2, 0, 0): 0x1A2,
    (3, 7, 0): 0x1A4,
    (3, 9, 0): 0x248,
    (3, 11, 0): 0x2BC,
    (3, 12, 0): 0x2BD,
    (3, 14, 0): 0x2F8,
}

# The number of a stage in the start event ("external") -> the number that libmelee and our tables use ("internal").
STAGES: Final = {0x02: 0x08, 0x03: 0x12, 0x08: 0x06, 0x1C: 0x1A, 0x1F: 0x18, 0x20: 0x19}
# Row i is the number on the character select screen ("external") of internal character i; Nana has that of Popo.
CHARACTERS: Final = (
    *(0x08, 0x02, 0x00, 0x01, 0x04, 0x05, 0x06, 0x13, 0x0B, 0x0C, 0x0E, 0x0E, 0x0D, 0x10),
    *(0x11, 0x0F, 0x0A, 0x07, 0x09, 0x12, 0x15, 0x16, 0x14, 0x18, 0x03, 0x19, 0x17),
)


@dataclass(frozen=True, slots=True)
class PortStart:
    """One occupied port as the game starts."""

    port: int  # 0..3
    external_character: int
    kind: int  # HUMAN, CPU or DEMO
    stocks: int
    costume: int
    name: str  # display name, or name tag, "" if none is recorded
    level: int = 1  # of a computer player, 1 to 9; of others it means nothing
    ratios: tuple[float, float, float] = (1.0, 1.0, 1.0)  # of damage dealt and taken, and of size; 1: the usual rules
    code: str = ""  # connect code, such as KIM#123; "" if none is recorded


@dataclass(frozen=True, slots=True)
class Start:
    """Contents of the start event."""

    stage: int  # external number
    pal: bool | None  # None: not recorded
    frozen_stadium: bool | None  # Stadium stays as it is; older files of online games say False although it did
    ports: tuple[PortStart, ...]  # rising
    mode: str = "stock"  # of ``MODES``
    timer_s: int = TIMER_S  # 0: it does not count down
    items: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """How the game ended."""

    method: int  # 1 time, 2 game, 7 no contest; before version 2.0: 0 unresolved, 3 resolved
    lras_initiator: int | None  # seat that quit with L+R+A+start; None: no seat, or not recorded
    placements: tuple[int, ...] | None  # of the seats, 0 is first; None: not recorded


def read_start(event: bytes, version: Version) -> Start:
    """Decode a start event, command byte included; it has at least the fields of version 1.0."""
    (stage,) = struct.unpack_from(">H", event, STAGE_OFFSET)
    ports = []
    for port in range(NUM_PORTS):
        slot = struct.unpack_from(_SLOT, event, PLAYERS_OFFSET + PLAYER_BYTES * port)
        character, kind, stocks, costume, *_, level, dealt, taken, size = slot
        if kind < EMPTY:
            name = _recorded_text(event, version, port, _NAMES)
            code = _recorded_text(event, version, port, (_CODES,))
            ratios = (dealt, taken, size)
            ports.append(PortStart(port, character, kind, stocks, costume, name, level, ratios, code))
    pal = bool(event[PAL_OFFSET]) if version >= PAL_SINCE and len(event) > PAL_OFFSET else None
    frozen = bool(event[FROZEN_OFFSET]) if version >= FROZEN_SINCE and len(event) > FROZEN_OFFSET else None
    mode, (items,) = event[MODE_OFFSET], struct.unpack_from(">b", event, ITEMS_OFFSET)
    (timer,) = struct.unpack_from(">I", event, TIMER_OFFSET) if mode & 3 == COUNTING_DOWN else (0,)
    named = MODES[mode >> 5] if mode >> 5 < len(MODES) else f"number {mode >> 5}"
    return Start(stage, pal, frozen, tuple(ports), named, timer, items != NO_ITEMS)


def read_end(event: bytes, version: Version, ports: tuple[int, int]) -> End:
    """Decode an end event, command byte included."""
    lras, placements = None, None
    if version >= (2, 0, 0) and len(event) > 2 and event[2] in ports:
        lras = ports.index(event[2])
    if version >= (3, 13, 0) and len(event) >= 3 + NUM_PORTS:
        by_port = struct.unpack_from(f">{NUM_PORTS}b", event, 3)
        if any(by_port[port] >= 0 for port in ports):
            placements = tuple(by_port[port] for port in ports)
    return End(event[1], lras, placements)


def _recorded_text(event: bytes, version: Version, port: int, places: tuple[tuple[int, int, Version], ...]) -> str:
    """The text of a port in the first of several places that has one."""
    for offset, size, since in places:
        first = offset + size * port
        if version >= since and len(event) >= first + size:
            text = event[first : first + size].split(b"\0")[0]
            if text:
                return _text(text)
    return ""


def write_start(start: Start, version: Version) -> bytes:
    """A start event as long as those of its version, command byte included."""
    event = bytearray(1 + START_BYTES[(3, 14, 0)])
    event[0] = GAME_START
    event[1:4] = bytes(version)
    event[0x5:0xA] = b"\x12\x01\x86\x4c\xc3"  # as online games have it
    event[MODE_OFFSET] |= MODES.index(start.mode) << 5
    event[0x10:0x13] = b"\xff\xff\x6e"  # items off, a self-destruct costs a point
    struct.pack_into(">b", event, ITEMS_OFFSET, NO_ITEMS + start.items)
    struct.pack_into(">HI", event, STAGE_OFFSET, start.stage, start.timer_s)
    event[0x25:0x2D] = b"\xff" * 8  # which items may spawn, if any did
    struct.pack_into(">fff", event, 0x31, 1.0, 1.0, 1.0)
    occupied = {port.port: port for port in start.ports}
    for slot in range(NUM_SLOTS):
        struct.pack_into(_SLOT, event, PLAYERS_OFFSET + PLAYER_BYTES * slot, *_slot(occupied.get(slot)))
    first, size, _ = _NAMES[0] if version >= _NAMES[0][2] else _NAMES[1]
    for port in start.ports:
        struct.pack_into(f"{size}s", event, first + size * port.port, shift_jis(port.name, size - 1))
        offset, length, _ = _CODES
        struct.pack_into(f"{length}s", event, offset + length * port.port, _code_bytes(port.code))
    event[PAL_OFFSET], event[FROZEN_OFFSET] = bool(start.pal), bool(start.frozen_stadium)
    event[0x1A3:0x1A5] = b"\x02\x02"  # scene of a match in versus mode
    event[0x2BD] = 1  # English
    return bytes(event[: 1 + max(size for since, size in START_BYTES.items() if since <= version)])


def write_end(end: End, version: Version, ports: tuple[int, int]) -> bytes:
    """An end event as long as those of its version, command byte included."""
    lras = -1 if end.lras_initiator is None else ports[end.lras_initiator]
    placements = [-1] * NUM_PORTS
    for port, place in zip(ports, end.placements or (), strict=False):
        placements[port] = place
    return struct.pack(">BBb4b", GAME_END, end.method, lras, *placements)[: 1 + size_of(END_FIELDS, version)]


def recordable(name: str) -> str:
    """The part of a player's name that a file can hold."""
    return _text(shift_jis(name, _NAMES[0][1] - 1))


def recordable_code(code: str) -> str:
    """The part of a connect code that a file can hold."""
    return _text(_code_bytes(code))


def _code_bytes(code: str) -> bytes:
    """A connect code as the game records it, with a full-width #."""
    return shift_jis(code, _CODES[1] - 2).replace(b"#", _FULL_WIDTH_HASH)


def shift_jis(text: str, most: int) -> bytes:
    """As much of a name as fits; accents that the encoding lacks are dropped, other letters become "?"."""
    encoded = b""
    for letter in unicodedata.normalize("NFKC", text):
        try:
            more = letter.encode("shift_jis")
        except UnicodeEncodeError:
            more = unicodedata.normalize("NFKD", letter)[0].encode("shift_jis", "replace")
        if len(encoded) + len(more) > most:
            break
        encoded += more
    return encoded


def _text(encoded: bytes) -> str:
    return printable(unicodedata.normalize("NFKC", encoded.decode("shift_jis", "replace")))


def _slot(port: PortStart | None) -> tuple[int | float, ...]:
    if port is None:
        port = PortStart(0, 0x1A, EMPTY, STOCKS, 0, "")
    looks = (port.costume, 0xFF, 9, 0x78, 0xC0, 4)
    return (port.external_character, port.kind, port.stocks, *looks, port.level, *port.ratios)
