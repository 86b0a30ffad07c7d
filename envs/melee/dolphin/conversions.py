"""Differences between libmelee's values of a frame and ours.

Both take the first version of a frame that is sent again (rollback); the replay reader takes the last. libmelee's
players are in a dict by port, from 1, with NumPy bytes as keys, and its numbers are NumPy scalars of the field's width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from envs.melee.controller import BUTTONS

if TYPE_CHECKING:
    from envs.melee.state import GameState

ZeroIndexed = Mapping[int, set[int]]  # by character: actions whose frames libmelee counts from 1 instead of 0


@dataclass(frozen=True, slots=True)
class Conversion:
    """One quantity of a player.

    ``convert`` turns ours, a PLAYER or CONTROLLER record, into what ``theirs`` reads off libmelee's PlayerState.
    """

    name: str
    theirs: Callable[[Any], object]
    convert: Callable[[Any, ZeroIndexed], object]


def _same(name: str, theirs: str) -> Conversion:
    """A number that libmelee does not convert."""

    def read(player: Any) -> object:  # noqa: ANN401
        for part in theirs.split("."):
            player = getattr(player, part)
        return player

    return Conversion(name, read, lambda ours, _: np.float32(ours[name]))


def _whole(name: str, theirs: str) -> Conversion:
    """A number of frames that libmelee truncates to an integer."""
    return Conversion(name, lambda player: getattr(player, theirs), lambda ours, _: int(ours[name]))


def _action_frame(ours: Any, zero: ZeroIndexed) -> int:  # noqa: ANN401
    return int(ours["action_frame"]) + (int(ours["action"]) in zero.get(int(ours["character"]), ()))


PLAYER_TABLE: Final = (
    _same("x", "position.x"),
    _same("y", "position.y"),
    _same("speed_air_x", "speed_air_x_self"),
    _same("speed_ground_x", "speed_ground_x_self"),
    _same("speed_y", "speed_y_self"),
    _same("speed_attack_x", "speed_x_attack"),
    _same("speed_attack_y", "speed_y_attack"),
    _same("percent", "percent"),
    _same("shield", "shield_strength"),
    _same("stocks", "stock"),
    _same("jumps_left", "jumps_left"),
    _same("action", "action.value"),
    _same("character", "character.value"),
    Conversion("facing", lambda player: player.facing, lambda ours, _: ours["facing"] > 0),
    Conversion("on_ground", lambda player: player.on_ground, lambda ours, _: ours["on_ground"] == 1),
    Conversion("invulnerable", lambda player: player.invulnerable, lambda ours, _: ours["invulnerable"] == 1),
    _whole("hitlag", "hitlag_left"),
    Conversion(
        # The field holds other things outside hitstun, and libmelee does not look at the flag that says so.
        "hitstun",
        lambda player: player.hitstun_frames_left,
        lambda ours, _: int(ours["hitstun"]) if ours["hitstun"] else None,
    ),
    Conversion("action_frame", lambda player: player.action_frame, _action_frame),
)
"""Numbers of a player. A conversion that gives None says nothing of the case."""


def _stick(name: str, theirs: str, axis: int) -> Conversion:
    """An axis, -1..1 with us and 0..1 with libmelee."""
    return Conversion(
        name,
        lambda player: getattr(player.controller_state, theirs)[axis],
        lambda ours, _: np.float32(np.float32(ours[name]) / 2) + 0.5,
    )


def _button(bit: int, name: str) -> Conversion:
    # Theirs are the physical buttons alone; ours also those that only the game knows of, see ``controller_columns``.
    return Conversion(
        name,
        lambda player: {b.value: down for b, down in player.controller_state.button.items()}[name],
        lambda ours, _: None if ours["buttons"] >> bit & 1 else False,
    )


CONTROLLER_TABLE: Final = (
    _stick("main_x", "main_stick", 0),
    _stick("main_y", "main_stick", 1),
    _stick("c_x", "c_stick", 0),
    _stick("c_y", "c_stick", 1),
    Conversion(
        "shoulder", lambda player: player.controller_state.l_shoulder, lambda ours, _: np.float32(ours["shoulder"])
    ),
    *(_button(bit, name) for bit, name in enumerate(BUTTONS)),
)
"""Numbers of a controller: what the game made of it."""


def differences(state: GameState, ports: tuple[int, int], theirs: Any, zero: ZeroIndexed) -> Iterator[str]:  # noqa: ANN401
    """Messages about differences between our values and libmelee's that the tables do not explain.

    Args:
        state: One game.
        ports: Of its seats, from 0.
        theirs: libmelee's GameState of the same frame.
        zero: ``Console.zero_indices``.
    """
    for seat, port in enumerate(ports):
        player = theirs.players[port + 1]
        for table, record in ((PLAYER_TABLE, state.players[0, seat]), (CONTROLLER_TABLE, state.controllers[0, seat])):
            for row in table:
                expected, got = row.convert(record, zero), row.theirs(player)
                if expected is not None and expected != got:
                    yield f"{row.name} on port {port + 1}: {record} gives {expected}, libmelee has {got}"
