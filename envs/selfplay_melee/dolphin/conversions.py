"""Differences between libmelee's values of a frame and ours.

Both take the first version of a frame that is sent again (rollback); the replay reader takes the last. libmelee's
players are in a dict by port, from 1, with NumPy bytes as keys, and its numbers are NumPy scalars of the field's width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from selfplay_melee.controller import BUTTONS

if TYPE_CHECKING:
    from selfplay_melee.state import GameState

ZeroIndexed = Mapping[int, set[int]]  # by character: actions whose frames libmelee counts from 1 instead of 0
_Compared = Iterator[tuple[str, object, object]]  # name, expected value, libmelee's value

_SAME: Final = {
    "x": "position.x",
    "y": "position.y",
    "speed_air_x": "speed_air_x_self",
    "speed_ground_x": "speed_ground_x_self",
    "speed_y": "speed_y_self",
    "speed_attack_x": "speed_x_attack",
    "speed_attack_y": "speed_y_attack",
    "percent": "percent",
    "shield": "shield_strength",
    "stocks": "stock",
    "jumps_left": "jumps_left",
    "action": "action.value",
    "character": "character.value",
}
"""PLAYER columns that libmelee does not convert, and its attributes."""
_AXES: Final = (("main_x", "main_stick", 0), ("main_y", "main_stick", 1), ("c_x", "c_stick", 0), ("c_y", "c_stick", 1))


def _compare_player(ours: Any, theirs: Any, zero: ZeroIndexed) -> _Compared:  # noqa: ANN401
    for name, attribute in _SAME.items():
        yield name, np.float32(ours[name]), attrgetter(attribute)(theirs)
    yield "facing", ours["facing"] > 0, theirs.facing
    yield "on_ground", ours["on_ground"] == 1, theirs.on_ground
    yield "invulnerable", ours["invulnerable"] == 1, theirs.invulnerable
    yield "hitlag", int(ours["hitlag"]), theirs.hitlag_left  # libmelee truncates numbers of frames
    if ours["hitstun"]:  # else the field has another meaning, and libmelee ignores the flag for that
        yield "hitstun", int(ours["hitstun"]), theirs.hitstun_frames_left
    counted_from_1 = int(ours["action"]) in zero.get(int(ours["character"]), ())
    yield "action_frame", int(ours["action_frame"]) + counted_from_1, theirs.action_frame


def _compare_controller(ours: Any, theirs: Any) -> _Compared:  # noqa: ANN401
    """Compare a CONTROLLER record, as the game interpreted the inputs, with libmelee's ControllerState."""
    for name, stick, axis in _AXES:  # -1..1 with us and 0..1 with libmelee
        yield name, np.float32(np.float32(ours[name]) / 2) + 0.5, getattr(theirs, stick)[axis]
    yield "shoulder", np.float32(ours["shoulder"]), theirs.l_shoulder
    down = {button.value: pressed for button, pressed in theirs.button.items()}
    for bit, name in enumerate(BUTTONS):
        # libmelee has the physical buttons only; ours include those set by the game, see ``controller_columns``
        if not ours["buttons"] >> bit & 1:
            yield name, False, down[name]


def differences(state: GameState, ports: tuple[int, int], theirs: Any, zero: ZeroIndexed) -> Iterator[str]:  # noqa: ANN401
    """Messages about unexpected differences between our values and libmelee's.

    Args:
        state: One game.
        ports: Of its seats, from 0.
        theirs: libmelee's GameState of the same frame.
        zero: ``Console.zero_indices``.
    """
    for seat, port in enumerate(ports):
        player, pad, other = state.players[0, seat], state.controllers[0, seat], theirs.players[port + 1]
        for record, compared in (
            (player, _compare_player(player, other, zero)),
            (pad, _compare_controller(pad, other.controller_state)),
        ):
            for name, expected, got in compared:
                if expected != got:
                    yield f"{name} on port {port + 1}: {record} gives {expected}, libmelee has {got}"
