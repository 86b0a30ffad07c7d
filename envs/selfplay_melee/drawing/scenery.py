"""Stages as shapes: body, floors, blast zone and moving platforms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.physics.stages.platforms import RANDALL_LOOP, RANDALL_PATH
from selfplay_melee.tables import STAGES, load_tables
from selfplay_melee.tables.layout import RANDALL

if TYPE_CHECKING:
    from selfplay_melee.drawing.film import Film

Floats = NDArray[np.float32]

NOWHERE: Final = "Stage without a table"
_TITLES: Final = {"dreamland": "Dream Land", "pokemon_stadium": "Pokémon Stadium", "yoshis_story": "Yoshi's Story"}
_NAMES: Final = {number: name for name, number in STAGES.items()}


@dataclass(frozen=True, slots=True)
class Scenery:
    """A stage, in units."""

    name: str
    bodies: tuple[Floats, ...]  # solid polygons [N, 2]
    floors: tuple[Floats, ...]  # still floors, [N, 2] from left to right; the main floor first
    movers: Floats  # [M, 3] moving platforms at the start: left end, right end, height
    blast: tuple[float, float, float, float]  # left, right, bottom, top
    cloud: bool = False  # the one mover is the cloud of Yoshi's Story

    @property
    def edge(self) -> float:
        """Distance of the main floor's edge from the middle."""
        return float(np.abs(self.floors[0][:, 0]).max()) if self.floors else 80.0


@cache
def scenery_of(stage: int) -> Scenery:
    """The scenery of a stage id; an empty place if it has no table."""
    tables = load_tables()
    if not 0 <= stage < len(tables.stage_rows) or tables.stage_rows[stage] < 0:
        return Scenery(NOWHERE, (), (), np.zeros((0, 3), np.float32), (-230.0, 230.0, -120.0, 200.0))
    row = tables.stages[tables.stage_rows[stage]]
    floor, side = _points(row, "floor", int(row["num_floor"])), _points(row, "outline", int(row["num_outline"]))[1:]
    body = np.concatenate([floor, side, side[::-1] * (-1, 1)]).astype(np.float32)
    surfaces = np.stack([row["surface_left"], row["surface_right"], row["surface_y"]], axis=1).astype(np.float32)
    still = int(row["num_surfaces"] - row["num_movers"])
    platforms = [np.array([[left, y], [right, y]]) for left, right, y in surfaces[1:still]]
    left, right, bottom, top = (float(row[f"blast_{side}"]) for side in ("left", "right", "bottom", "top"))
    name = _NAMES[stage]
    return Scenery(
        _TITLES.get(name, name.replace("_", " ").title().replace(" Of ", " of ")),
        (body,),
        (floor, *platforms),
        surfaces[still : int(row["num_surfaces"])],
        (left, right, bottom, top),
        cloud=int(row["movement"]) == RANDALL,
    )


def _points(row: np.void, name: str, count: int) -> Floats:
    points: Floats = np.stack([row[f"{name}_x"][:count], row[f"{name}_y"][:count]], axis=1).astype(np.float32)
    return points


def moving_platforms(film: Film, scenery: Scenery) -> Floats:
    """Moving platforms [T, M, 3]: left end, right end and height."""
    moving = np.repeat(scenery.movers[None], len(film), axis=0)
    if scenery.cloud:
        start = RANDALL_PATH[0, 0]
        at = (film.frames - start) % RANDALL_LOOP + start
        left, height = (np.interp(at, RANDALL_PATH[:, 0], RANDALL_PATH[:, column]) for column in (1, 2))
        moving[..., 1] += (left - moving[:, 0, 0])[:, None]
        moving[..., 0], moving[..., 2] = left[:, None], height[:, None]
    elif film.platforms is not None and len(scenery.movers) == film.platforms.shape[1]:
        moving[..., 2] = film.platforms
    return moving
