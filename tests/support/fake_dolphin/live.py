"""Pack one frame of a running game as events: the same bytes as ``encode`` of the whole game."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from selfplay_melee.controller import BUTTONS
from selfplay_melee.slp import layout
from selfplay_melee.slp.columns import BITS, HITSTUN_FLAG, SAME
from selfplay_melee.slp.encode import known_events
from selfplay_melee.slp.layout import FIRST_FRAME, Field, Version, recorded, size_of
from selfplay_melee.slp.record import NO_SEAT, STICK_STEPS
from selfplay_melee.state import PLAYER

Player = tuple[Any, ...]  # the values of a PLAYER record, in order
Controller = tuple[float, float, float, float, float, int]  # those of a CONTROLLER record

_CODES: Final = {"u1": "B", "i1": "b", "u2": "H", "i4": "i", "u4": "I", "f4": "f", "5u1": "5B", "4u1": "4B"}
_PLAYER_NAMES: Final = PLAYER.names or ()
_BEFORE: Final = itemgetter(*(_PLAYER_NAMES.index(name) for name in ("action", "x", "y", "facing")))
_PERCENT, _HITSTUN, _ON_GROUND, _INVULNERABLE = (
    _PLAYER_NAMES.index(name) for name in ("percent", "hitstun", "on_ground", "invulnerable")
)
_PHYSICAL: Final = tuple(
    sum(BITS[name] for i, name in enumerate(BUTTONS) if buttons >> i & 1) for buttons in range(1 << len(BUTTONS))
)


class Item(NamedTuple):
    """A flying item, fields in the order of its event."""

    type: int
    vx: float
    vy: float
    x: float
    y: float
    timer: float
    number: int  # which it is
    owner: int  # port


class LiveEvents:
    """Packs the frames of one game.

    Args:
        version: Of the events.
        ports: Of the seats, 0..3.
    """

    def __init__(self, version: Version, ports: tuple[int, int]) -> None:
        self._ports = ports
        self._known = frozenset(known_events(version))
        self._opening = _packer(layout.FRAME_START, layout.FRAME_HEAD, layout.START_FIELDS, version)
        self._pre = _packer(layout.PRE_FRAME, layout.PLAYER_HEAD, layout.PRE_FIELDS, version)
        self._platform = _packer(layout.FOUNTAIN, layout.FRAME_HEAD, layout.FOUNTAIN_FIELDS, version)
        self._item = _packer(layout.ITEM, layout.FRAME_HEAD, layout.ITEM_FIELDS, version)
        self._post = _packer(layout.POST_FRAME, layout.PLAYER_HEAD, layout.POST_FIELDS, version)
        self._bookend = _packer(layout.FRAME_BOOKEND, layout.FRAME_HEAD, layout.BOOKEND_FIELDS, version)
        self._heights: tuple[float, ...] = ()

    def pack(
        self,
        number: int,
        before: Sequence[Player],
        controllers: Sequence[Controller],
        players: Sequence[Player],
        *,
        more_buttons: Sequence[int] = (0, 0),
        heights: tuple[float, ...] = (),
        items: Sequence[Item] = (),
    ) -> bytes:
        """The events of a frame.

        Args:
            number: Of the frame.
            before: Both players a frame ago; on the first frame as they are.
            controllers: The inputs that led to ``players``.
            players: Both players now.
            more_buttons: Recorded bits of buttons that a CONTROLLER does not have.
            heights: Of Fountain's platforms, left and right, as files record them; () if unknown.
            items: In flight.

        Raises:
            struct.error: a number does not fit into its field.
        """
        known, ports = self._known, self._ports
        parts = [self._opening(number, 0, number - FIRST_FRAME)] if layout.FRAME_START in known else []
        parts += [
            self._pre(number, ports[i], 0, *_pre_values(before[i], controllers[i], more_buttons[i])) for i in (0, 1)
        ]
        if heights and heights != self._heights and layout.FOUNTAIN in known:
            parts += self._platforms(number, heights)
        if items and layout.ITEM in known:
            parts += [self._item(number, *_item_values(item)) for item in items]
        parts += [self._post(number, ports[i], 0, *_post_values(players[i])) for i in (0, 1)]
        if layout.FRAME_BOOKEND in known:
            parts.append(self._bookend(number, number))
        return b"".join(parts)

    def _platforms(self, number: int, heights: tuple[float, ...]) -> list[bytes]:
        """Events of platforms that have moved since the last frame."""
        before, self._heights = self._heights or (None, None), heights
        sides = zip((layout.LEFT_PLATFORM, layout.RIGHT_PLATFORM), before, heights, strict=True)
        return [self._platform(number, side, height) for side, was, height in sides if height != was]


def _packer(command: int, head: Sequence[Field], fields: Sequence[Field], version: Version) -> Callable[..., bytes]:
    """A function from the values of all fields, of which the version may record fewer, to the bytes of an event."""
    size = size_of(fields, version)
    kept = (*head, *recorded(fields, version, size))
    form, at, values = ">B", 1, 1
    for f in kept:
        code = _CODES[f.type]
        form += f"{f.offset - at}x{code}"
        at = f.offset + struct.calcsize(f">{code}")
        values += int(code[:-1] or 1)
    pack = struct.Struct(f"{form}{size + 1 - at}x").pack
    return lambda *given: pack(command, *given[: values - 1])


def _pre_values(before: Player, controller: Controller, more_buttons: int) -> tuple[float, ...]:
    """Values in the order of ``layout.PRE_FIELDS``; see ``record``."""
    main_x, main_y, c_x, c_y, shoulder, buttons = controller
    physical = _PHYSICAL[buttons] | more_buttons
    processed = physical | BITS["A"] if physical & BITS["Z"] else physical
    return (
        *(0, *_BEFORE(before), main_x, main_y, c_x, c_y, shoulder, processed, physical, shoulder, 0.0),
        *(round(main_x * STICK_STEPS), before[_PERCENT]),
        *(round(main_y * STICK_STEPS), round(c_x * STICK_STEPS), round(c_y * STICK_STEPS)),
    )


def _post_order() -> Callable[[tuple[float, ...]], tuple[float, ...]]:
    """A function that brings player values and those of ``_post_values`` into the order of ``layout.POST_FIELDS``."""
    added = ("nothing", "airborne", "hurtbox_state", "last_hit_by", "hitstun_flag")
    place = {name: len(_PLAYER_NAMES) + i for i, name in enumerate(added)}
    place |= {name: _PLAYER_NAMES.index(column) for column, name in SAME.items()} | {"misc": _HITSTUN}
    order = []
    for f in layout.POST_FIELDS:
        if f.name == "flags":
            order += [place["hitstun_flag" if byte == HITSTUN_FLAG[0] else "nothing"] for byte in range(5)]
        else:
            order.append(place.get(f.name, place["nothing"]))
    return itemgetter(*order)


_POST_ORDER: Final = _post_order()


def _post_values(player: Player) -> tuple[float, ...]:
    airborne, hurtbox = int(not player[_ON_GROUND]), int(player[_INVULNERABLE] != 0)
    flag = HITSTUN_FLAG[1] if player[_HITSTUN] > 0 else 0
    return _POST_ORDER((*player, 0, airborne, hurtbox, NO_SEAT, flag))


def _item_values(item: Item) -> tuple[float, ...]:
    """Values in the order of ``layout.ITEM_FIELDS``."""
    kind, vx, vy, x, y, timer, number, owner = item
    return (kind, 0, 1.0 if vx >= 0 else -1.0, vx, vy, x, y, 0, timer, number, 0, 0, 0, 0, owner, 0)
