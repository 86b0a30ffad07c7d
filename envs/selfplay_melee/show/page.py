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

from selfplay.report.saving import save_text
from selfplay.report.standalone_page import read, read_modules, standalone_page
from selfplay_melee.drawing.burst import burst_facts
from selfplay_melee.drawing.columns import columns_of, film_facts, look_facts, stage_facts
from selfplay_melee.drawing.events import MOVE_NAMES
from selfplay_melee.drawing.figure import JOINTS
from selfplay_melee.drawing.scene import scene_of
from selfplay_melee.drawing.story import action_name, losses
from selfplay_melee.state import FPS

if TYPE_CHECKING:
    from selfplay_melee.drawing.film import Film

_SCRIPTS: Final = ("data.js", "draw.js", "panels.js", "player.js")
_TYPES: Final = {"i1": "i8", "u1": "u8", "i2": "i16", "u2": "u16", "i4": "i32", "u4": "u32", "f4": "f32"}


def write_html(film: Film, path: Path) -> int:
    """Write the page; its size in bytes. See ``save_text``."""
    return save_text(path, page(film))


def page(film: Film) -> str:
    folder, parts = resources.files(__package__) / "player", player("h1")
    return standalone_page(
        read(folder, "page.html"),
        parts.style + read(folder, "page.css"),
        read_modules(folder, *_SCRIPTS, "main.js"),
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
    return PlayerAssets(element, read(folder, "theme.css", "player.css"), read_modules(folder, *_SCRIPTS))


def document(film: Film) -> dict[str, Any]:
    """The film as the script reads it, see ``player/data.js``."""
    scene = scene_of(film)
    percent = np.nan_to_num(film.players["percent"])
    known = film.values is not None and np.isfinite(film.values).any()
    return {
        "title": film.title,
        "names": film.names,
        **film_facts(),
        **stage_facts(scene.scenery),
        "looks": [look_facts(look, rig) for look, rig in zip(scene.looks, scene.rigs, strict=True)],
        "joints": len(JOINTS),
        "moves": MOVE_NAMES,
        "burst": burst_facts(),
        "opens": round(film.opens_s * FPS),
        "actions": {int(a): action_name(int(a)) for a in np.unique(film.players["action"])},
        "losses": [[int(film.frames[loss.t] - film.frames[0]), loss.seat] for loss in losses(film)],
        "highest_percent": float(percent.max()),
        "highest_value": float(np.nanmax(np.abs(film.values))) if known and film.values is not None else 0.0,
        "columns": {name: packed(column) for name, column in columns_of(scene).items()},
    }


def end_document(film: Film, longest_s: float) -> tuple[dict[str, Any], float]:
    """The document of the last ``longest_s`` of a film, and the seconds before them that it leaves out."""
    cut_s = max(film.seconds - longest_s, 0.0)
    return document(film.part(cut_s)), cut_s


def packed(column: NDArray[np.generic] | None) -> dict[str, str] | None:
    """Little-endian bytes in base64, and their type."""
    if column is None:
        return None
    kind, little = little_endian(column)
    return {"type": kind, "data": base64.b64encode(little.tobytes()).decode()}


def little_endian(column: NDArray[Any]) -> tuple[str, NDArray[Any]]:
    """The type of an array for ``player/data.js``, and its numbers in the order of their bytes that pages read."""
    little = np.ascontiguousarray(column, column.dtype.newbyteorder("<"))
    return _TYPES[little.dtype.str[1:]], little
