"""The scene in whole numbers: what a page draws from, and what ``browser/scene.js`` writes while a fight goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.controller import AXES, BUTTONS
from selfplay_melee.drawing.camera import still_camera
from selfplay_melee.drawing.events import PERCENT_UNIT, tenths
from selfplay_melee.drawing.items import DECORATION, LASER, THING
from selfplay_melee.drawing.scene import FROZEN, RAYS, SAFE
from selfplay_melee.state import FPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from selfplay_melee.drawing.figure import BodyPart, Rig
    from selfplay_melee.drawing.looks import CharacterLook
    from selfplay_melee.drawing.scene import FightScene
    from selfplay_melee.drawing.scenery import Scenery

UNIT: Final = 32  # places are whole numbers of 1/32 unit
FIGURE_UNIT: Final = 64  # joints are finer
FLAGS: Final = {"facing": 1, "frozen": 2, "safe": 4, "gone": 8, "halo": 16, "sparks": 32}
"""Bits of a player; ``facing``: to the right."""
SHIELD_UNIT: Final = 8
AXIS_UNIT: Final = 127  # also of half a turn of an item
SHOULDER_UNIT: Final = 255


def columns_of(scene: FightScene) -> dict[str, NDArray[np.generic] | None]:
    """Columns of a film by name: [T], [T, 2] by seat, and tables that they index; see ``player/data.js``."""
    film, shots = scene.film, scene.shots
    players, pads = film.players, film.controllers
    derived = {"facing": shots["facing"] > 0, "frozen": shots["tint"] == FROZEN, "safe": shots["tint"] == SAFE}
    flags = sum(bit * (derived[name] if name in derived else shots[name]) for name, bit in FLAGS.items())
    return {
        "frames": film.frames,
        "x": whole(shots["x"]),
        "y": whole(shots["y"]),
        **{name: shots[name] for name in ("look", "figure", "circles")},
        "flags": np.asarray(flags, np.uint8),
        "rays": shots["rays"],
        "shield": np.clip(np.rint(shots["shield"] * SHIELD_UNIT), 0, 255).astype(np.uint8),
        "percent": tenths(film),
        **{name: shots[name] for name in ("move", "hits", "dealt")},
        "stocks": np.clip(players["stocks"], 0, 99).astype(np.uint8),
        "action": np.clip(players["action"], 0, 65_535).astype(np.uint16),
        "action_frame": np.clip(np.nan_to_num(players["action_frame"]), 0, 65_535).astype(np.uint16),
        **{axis: _axis(pads[axis]) for axis in AXES},
        "shoulder": np.clip(np.rint(np.nan_to_num(pads["shoulder"]) * SHOULDER_UNIT), 0, 255).astype(np.uint8),
        "buttons": pads["buttons"].astype(np.uint16),
        "values": film.values,
        "camera": whole(scene.camera),
        "moving": whole(scene.moving),
        "figures": whole(scene.figures, FIGURE_UNIT),
        **circle_columns(scene.circles),
        **_items(scene),
    }


def circle_columns(sets: Sequence[NDArray[np.float32]]) -> dict[str, NDArray[np.generic]]:
    """All circles in a row, and where each set begins."""
    return {
        "circle": whole(np.concatenate(sets)),
        "circles_at": np.cumsum([0, *map(len, sets)]).astype(np.uint32),
    }


def _items(scene: FightScene) -> dict[str, NDArray[np.generic]]:
    drawn = scene.items
    return {
        "items_at": np.searchsorted(drawn["t"], np.arange(len(scene.film) + 1)).astype(np.uint32),
        "item_x": whole(drawn["x"]),
        "item_y": whole(drawn["y"]),
        "item_kind": drawn["kind"],
        "item_way": np.rint(drawn["way"] / np.pi * AXIS_UNIT).astype(np.int8),
    }


def _axis(numbers: NDArray[np.float64]) -> NDArray[np.int8]:
    return np.clip(np.rint(np.nan_to_num(numbers) * AXIS_UNIT), -AXIS_UNIT, AXIS_UNIT).astype(np.int8)


def whole(numbers: NDArray[Any], unit: int = UNIT) -> NDArray[np.int16]:
    result: NDArray[np.int16] = np.clip(np.rint(numbers * unit), -32_768, 32_767).astype(np.int16)
    return result


def film_facts() -> dict[str, Any]:
    """What a page has to know to read the columns of any film."""
    return {
        "units": {
            "place": UNIT, "figure": FIGURE_UNIT, "shield": SHIELD_UNIT, "percent": PERCENT_UNIT, "axis": AXIS_UNIT,
            "shoulder": SHOULDER_UNIT,
        },
        "bits": FLAGS,
        "fps": FPS,
        "most_rays": RAYS,
        "button_names": BUTTONS,
        "item_kinds": {"thing": THING, "laser": LASER, "decoration": DECORATION},
    }  # fmt: skip


def stage_facts(scenery: Scenery) -> dict[str, Any]:
    """What a page knows of a stage."""
    return {
        "stage": scenery.name,
        "scenery": {
            "bodies": [body.round(2).tolist() for body in scenery.bodies],
            "floors": [floor.round(2).tolist() for floor in scenery.floors],
            "blast": scenery.blast,
        },
        "platforms": len(scenery.movers),
        "still": whole(still_camera(scenery)).tolist(),
    }


def look_facts(look: CharacterLook, rig: Rig) -> dict[str, Any]:
    """What a page knows of a character's figure."""
    return {
        "name": look.name,
        "height": look.height,
        "shield_y": look.shield_y,
        "rig": [[_part_facts(part) for part in layer] for layer in rig],
    }


def _part_facts(part: BodyPart) -> dict[str, Any]:
    facts = {"kind": part.kind, "joints": part.joints, "size": part.size, "paint": part.paint}
    return facts | ({"points": part.points} if part.points else {}) | ({"inner": True} if part.inner else {})
