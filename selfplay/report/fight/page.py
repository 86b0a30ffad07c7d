"""A fight as one self-contained HTML page (see ``standalone_page``).

The page holds the scene as numbers and the script in ``player/`` that draws them. Other pages contain the same player:
``player`` has its parts, and ``document`` its data.
"""

from __future__ import annotations

import base64
import html
import string
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from envs.melee.controller import AXES
from envs.melee.drawing.camera import still_camera
from envs.melee.drawing.figure import JOINTS
from envs.melee.drawing.scene import FROZEN, SAFE, scene_of
from envs.melee.drawing.story import action_name, losses
from envs.melee.state import FPS
from selfplay.report.fight.saving import save_text
from selfplay.report.standalone_page import read, standalone_page

if TYPE_CHECKING:
    from envs.melee.drawing.film import Film
    from envs.melee.drawing.scene import FightScene

UNIT: Final = 32  # places are whole numbers of 1/32 unit
FIGURE_UNIT: Final = 64  # joints are finer
_SCRIPTS: Final = ("data.js", "draw.js", "panels.js", "player.js")
_FLAGS: Final = (("gone", 8), ("halo", 16), ("sparks", 32))  # beside 1 facing right, 2 frozen, 4 safe
_TYPES: Final = {"i1": "i8", "u1": "u8", "i2": "i16", "u2": "u16", "i4": "i32", "u4": "u32", "f4": "f32"}


def write_html(film: Film, path: Path) -> int:
    """Write the page, atomically; its size in bytes.

    Raises:
        ConfigError: the file cannot be written.
    """
    return save_text(path, page(film))


def page(film: Film) -> str:
    folder, parts = resources.files(__package__) / "player", player("h1")
    return standalone_page(
        read(folder, "page.html"),
        parts.style + read(folder, "page.css"),
        parts.script + read(folder, "main.js"),
        {"film": document(film)},
        title=html.escape(f"{film.names[0]} vs {film.names[1]}"),
        player=parts.html,
    )


@dataclass(frozen=True, slots=True)
class PlayerAssets:
    """Element, style sheet (with the colours of all pages) and script of the player."""

    html: str
    style: str
    script: str


def player(heading: str) -> PlayerAssets:
    """The player as a part of a page; ``heading`` (``h1`` to ``h6``) is the element of the players' names."""
    folder = resources.files(__package__) / "player"
    element = string.Template(read(folder, "player.html")).substitute(heading=heading)
    return PlayerAssets(element, read(folder, "theme.css", "player.css"), read(folder, *_SCRIPTS))


def document(film: Film) -> dict[str, Any]:
    """The film as the script reads it, see ``player/data.js``."""
    scene = scene_of(film)
    percent = np.nan_to_num(film.players["percent"])
    known = film.values is not None and np.isfinite(film.values).any()
    return {
        "title": film.title,
        "names": film.names,
        "stage": scene.scenery.name,
        "scenery": {
            "bodies": [body.round(2).tolist() for body in scene.scenery.bodies],
            "floors": [floor.round(2).tolist() for floor in scene.scenery.floors],
            "blast": scene.scenery.blast,
        },
        "looks": [
            {
                "name": look.name,
                "height": look.height,
                "shield_y": look.shield_y,
                "rig": [{"kind": p.kind, "joints": p.joints, "size": p.size, "paint": p.paint} for p in rig],
            }
            for look, rig in zip(scene.looks, scene.rigs, strict=True)
        ],
        "joints": len(JOINTS),
        "platforms": scene.moving.shape[1],
        "opens": round(film.opens_s * FPS),
        "still": _whole(still_camera(scene.scenery)).tolist(),
        "actions": {int(a): action_name(int(a)) for a in np.unique(film.players["action"])},
        "losses": [[int(film.frames[loss.t] - film.frames[0]), loss.seat] for loss in losses(film)],
        "highest_percent": float(percent.max()),
        "highest_value": float(np.nanmax(np.abs(film.values))) if known and film.values is not None else 0.0,
        "columns": {name: _packed(column) for name, column in _columns(scene).items()},
    }


def end_document(film: Film, longest_s: float) -> tuple[dict[str, Any], float]:
    """The document of the last ``longest_s`` of a film, and the seconds before them that it leaves out."""
    cut_s = max(film.seconds - longest_s, 0.0)
    return document(film.part(cut_s)), cut_s


def _columns(scene: FightScene) -> dict[str, NDArray[np.generic] | None]:
    film, shots = scene.film, scene.shots
    players, pads = film.players, film.controllers
    flags = (shots["facing"] > 0) + 2 * (shots["tint"] == FROZEN) + 4 * (shots["tint"] == SAFE)
    for name, bit in _FLAGS:
        flags = flags + bit * shots[name]
    sets = [len(one) for one in scene.circles]
    return {
        "frames": film.frames,
        "x": _whole(shots["x"]),
        "y": _whole(shots["y"]),
        "look": shots["look"],
        "figure": shots["figure"],
        "circles": shots["circles"],
        "flags": flags.astype(np.uint8),
        "rays": shots["rays"],
        "shield": np.clip(np.rint(shots["shield"] * 8), 0, 255).astype(np.uint8),
        "percent": np.clip(np.nan_to_num(players["percent"]) * 10, 0, 65_535).astype(np.uint16),
        "stocks": np.clip(players["stocks"], 0, 99).astype(np.uint8),
        "action": np.clip(players["action"], 0, 65_535).astype(np.uint16),
        "action_frame": np.clip(np.nan_to_num(players["action_frame"]), 0, 65_535).astype(np.uint16),
        **{axis: np.clip(np.rint(np.nan_to_num(pads[axis]) * 127), -127, 127).astype(np.int8) for axis in AXES},
        "shoulder": np.clip(np.rint(np.nan_to_num(pads["shoulder"]) * 255), 0, 255).astype(np.uint8),
        "buttons": pads["buttons"].astype(np.uint16),
        "values": film.values,
        "camera": _whole(scene.camera),
        "moving": _whole(scene.moving),
        "figures": _whole(scene.figures, FIGURE_UNIT),
        "circle": _whole(np.concatenate(scene.circles)),
        "circles_at": np.cumsum([0, *sets]).astype(np.uint32),
        **_items(scene),
    }


def _items(scene: FightScene) -> dict[str, NDArray[np.generic]]:
    drawn = scene.items
    return {
        "items_at": np.searchsorted(drawn["t"], np.arange(len(scene.film) + 1)).astype(np.uint32),
        "item_x": _whole(drawn["x"]),
        "item_y": _whole(drawn["y"]),
        "item_kind": drawn["kind"],
        "item_way": np.rint(drawn["way"] / np.pi * 127).astype(np.int8),
    }


def _whole(numbers: NDArray[Any], unit: int = UNIT) -> NDArray[np.int16]:
    whole: NDArray[np.int16] = np.clip(np.rint(numbers * unit), -32_768, 32_767).astype(np.int16)
    return whole


def _packed(column: NDArray[np.generic] | None) -> dict[str, str] | None:
    """Little-endian bytes in base64, and their type."""
    if column is None:
        return None
    little = np.ascontiguousarray(column, column.dtype.newbyteorder("<"))
    return {"type": _TYPES[little.dtype.str[1:]], "data": base64.b64encode(little.tobytes()).decode()}
