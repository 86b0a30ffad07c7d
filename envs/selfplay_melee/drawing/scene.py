"""What to draw on each frame of a film, as numbers; pictures and the page draw the same scene.

``browser/scene.js`` makes it while a fight goes on.

All frames are computed at once. Each different figure and set of hit circles is stored once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.actions import CATEGORIES, categories_of
from selfplay_melee.drawing import events, moves
from selfplay_melee.drawing.camera import follow
from selfplay_melee.drawing.figure import Rig, rig_of
from selfplay_melee.drawing.items import drawn_as
from selfplay_melee.drawing.looks import SHIELD_FULL, CharacterLook, look_of
from selfplay_melee.drawing.scenery import Scenery, moving_platforms, scenery_of

if TYPE_CHECKING:
    from selfplay_melee.drawing.film import Film

Floats = NDArray[np.float32]

PLAIN, FROZEN, SAFE = range(3)  # tints: normal, in hitlag, invulnerable
SHAKE: Final = 0.6  # units to both sides while a hit freezes a player
RAYS: Final = 30  # frames of the rays where a player was knocked out
DODGES: Final = ("spot_dodge", "roll", "air_dodge")
HELD: Final = ("grabbed",)  # beside hitstun, in which a combo goes on
SHIELDS: Final = ("shield", "shield_stun")
SHIELD_SHARE: Final = 0.15  # of the radius of a full shield that an empty one has

# A player on one frame.
SHOT: Final = np.dtype(
    [
        ("look", "u1"),  # index of ``looks`` and ``rigs``
        ("category", "u1"),  # group of the action, index of ``selfplay_melee.actions.CATEGORIES``
        ("figure", "u2"),  # index of ``figures``
        ("circles", "u2"),  # index of ``circles``
        ("x", "f4"),  # where the feet are drawn, in units
        ("y", "f4"),
        ("facing", "i1"),  # +1 right, -1 left
        ("tint", "u1"),
        ("gone", "?"),  # out of the game
        ("halo", "?"),  # on the platform that brings players back
        ("sparks", "?"),  # in hitstun
        ("rays", "u1"),  # remaining frames of rays, 0 none
        ("move", "u1"),  # whose name is shown, index of ``events.MOVE_NAMES``, 0 none
        ("hits", "u1"),  # of the combo that is shown, 0 none
        ("dealt", "u1"),  # its damage in percent
        ("shield", "f4"),  # radius in units, 0 none
    ]
)


@dataclass(frozen=True)
class FightScene:
    """The scene of a film."""

    film: Film
    scenery: Scenery
    looks: tuple[CharacterLook, ...]
    rigs: tuple[Rig, ...]
    figures: Floats  # [F, J, 2] joints around the feet, facing right
    circles: tuple[Floats, ...]  # [n, 3] each: forward and up from the feet, radius
    shots: NDArray[np.void]  # SHOT [T, 2]
    moving: Floats  # [T, M, 3]: left end, right end, height of platforms that move
    items: NDArray[np.void]  # items.DRAWN [N], by t

    @cached_property
    def camera(self) -> Floats:
        """A camera that follows the players, [T, 3]."""
        return follow(self.film, self.scenery, self.shots["gone"])

    def items_at(self, t: int) -> NDArray[np.void]:
        first, last = np.searchsorted(self.items["t"], (t, t + 1))
        return self.items[first:last]


class Numbered:
    """Different arrays, numbered in the order in which they came."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._numbers: dict[bytes, int] = {}

    def number_of(self, array: NDArray[Any]) -> int:
        number = self._numbers.setdefault(array.tobytes(), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(array)
        return number


def scene_of(film: Film) -> FightScene:
    players = film.players
    characters, look = np.unique(players["character"], return_inverse=True)
    looks = tuple(look_of(int(character)) for character in characters)
    shots = np.zeros(players.shape, SHOT)
    shots["look"] = look.reshape(players.shape)
    _place(shots, players)
    _shield(shots, players, looks)
    shots["move"] = events.shown_moves(film)
    held = shots["sparks"] | _among(shots, *HELD)
    shots["hits"], shots["dealt"] = np.moveaxis(events.shown_combos(film, held), -1, 0)
    kinds, which = _moves(players)
    figures, figure = np.unique(np.stack([moves.figure(move) for move in kinds]), axis=0, return_inverse=True)
    shots["figure"] = figure.reshape(-1)[which]
    circles = Numbered()
    shots["circles"] = np.array([circles.number_of(moves.circles(move)) for move in kinds])[which]
    scenery = scenery_of(film.stage)
    rigs = tuple(rig_of(look) for look in looks)
    moving, items = moving_platforms(film, scenery), drawn_as(film.items)
    return FightScene(film, scenery, looks, rigs, figures, tuple(circles.arrays), shots, moving, items)


def _moves(players: NDArray[np.void]) -> tuple[list[moves.Move], NDArray[np.intp]]:
    """The different frames of actions, and their indices [T, 2] for each frame and player."""
    frame = np.clip(np.nan_to_num(players["action_frame"]), 0, 9_999).astype(np.int64)
    keys = np.stack([players["character"], np.maximum(players["action"], 0), frame], axis=-1)
    kinds, which = np.unique(keys.reshape(-1, 3), axis=0, return_inverse=True)
    return [moves.Move(*map(int, kind)) for kind in kinds], which.reshape(players.shape)


def _place(shots: NDArray[np.void], players: NDArray[np.void]) -> None:
    actions = players["action"]
    shots["category"] = categories_of(actions, "special")
    frozen = np.nan_to_num(players["hitlag"]) > 0
    shots["x"] = np.nan_to_num(players["x"]) + frozen * SHAKE * (1 - 2 * (np.arange(len(players)) % 2))[:, None]
    shots["y"] = np.nan_to_num(players["y"])
    shots["facing"] = np.where(players["facing"] < 0, -1, 1)
    safe = (players["invulnerable"] > 0) | _among(shots, *DODGES)
    shots["tint"] = np.select([frozen, safe], [FROZEN, SAFE], PLAIN)
    shots["gone"] = _among(shots, "dead")
    shots["halo"] = _among(shots, "respawn")
    shots["sparks"] = (np.nan_to_num(players["hitstun"]) > 0) & ~shots["gone"]
    since = np.nan_to_num(players["action_frame"])
    shots["rays"] = np.where(shots["gone"], np.clip(RAYS - since, 0, RAYS), 0)


def _shield(shots: NDArray[np.void], players: NDArray[np.void], looks: Sequence[CharacterLook]) -> None:
    """Fill in the shields; their radius falls with their health, but not to 0."""
    full = np.array([look.shield_radius for look in looks], np.float32)[shots["look"]]
    left = np.clip(np.nan_to_num(players["shield"]) / SHIELD_FULL, 0.0, 1.0)
    shots["shield"] = np.where(_among(shots, *SHIELDS), full * (SHIELD_SHARE + (1 - SHIELD_SHARE) * left), 0.0)


def _among(shots: NDArray[np.void], *categories: str) -> NDArray[np.bool_]:
    among: NDArray[np.bool_] = np.isin(shots["category"], [CATEGORIES.index(name) for name in categories])
    return among
