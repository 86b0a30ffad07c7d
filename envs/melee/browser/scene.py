"""What ``scene.js`` has to know to fill the columns of a film while a fight goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from envs.melee.actions import CATEGORIES, CATEGORY_OF, FIRST_SPECIAL, NUM_ACTIONS
from envs.melee.controller import AXES
from envs.melee.drawing import camera, columns, events, scene
from envs.melee.drawing.burst import burst_facts
from envs.melee.drawing.figure import JOINTS, rig_of
from envs.melee.drawing.items import LASER
from envs.melee.drawing.looks import SHIELD_FULL, look_of
from envs.melee.drawing.poses import period_of
from envs.melee.drawing.scenery import scenery_of
from envs.melee.drawing.story import action_name
from envs.melee.physics.stages.platforms import RANDALL_LOOP, RANDALL_PATH

SCRIPTS: Final = ("camera.js", "events.js", "scene.js", "moment.js")
"""Modules of this folder, each after those that it imports."""


def scene_facts(characters: Sequence[int], stages: Sequence[int]) -> dict[str, Any]:
    """The ``facts`` of ``LiveFilm``, which go into JSON; by Melee's ids. Its tables are ``figures.move_tables``."""
    return {
        "characters": list(characters),
        "looks": [
            columns.look_facts(look, rig_of(look)) | {"shield_radius": look.shield_radius}
            for look in map(look_of, characters)
        ],
        "joints": len(JOINTS),
        "stages": {stage: _stage(stage) for stage in stages},
        "actions": [action_name(action) for action in range(NUM_ACTIONS)],
        "moves": events.MOVE_NAMES,
        "move_of": events.moves_of(-1)[:FIRST_SPECIAL].tolist(),
        "specials": [events.moves_of(character)[FIRST_SPECIAL:].tolist() for character in characters],
        "move_stays": events.MOVE_STAYS,
        "combo": {"from": events.COMBO_FROM, "stays": events.COMBO_STAYS, "unit": events.PERCENT_UNIT},
        "held": scene.HELD,
        "burst": burst_facts(),
        "categories": [CATEGORIES[category] for category in CATEGORY_OF],
        "periods": {category: period_of(category) for category in CATEGORIES if period_of(category)},
        "dodges": scene.DODGES,
        "shields": scene.SHIELDS,
        "shield_share": scene.SHIELD_SHARE,
        "shield_full": SHIELD_FULL,
        "shake": scene.SHAKE,
        "rays": scene.RAYS,
        "laser": LASER,
        "cloud": {"loop": RANDALL_LOOP, "path": RANDALL_PATH.tolist()},
        "camera": {
            "ahead": camera.AHEAD,
            "around": camera.AROUND,
            "narrowest": camera.NARROWEST,
            "room": camera.ROOM,
            "aspect": camera.ASPECT,
        },
        "flags": columns.FLAGS,
        "axes": AXES,
        "units": {
            "place": columns.UNIT,
            "shield": columns.SHIELD_UNIT,
            "percent": events.PERCENT_UNIT,
            "axis": columns.AXIS_UNIT,
            "shoulder": columns.SHOULDER_UNIT,
        },
    }


def _stage(stage: int) -> dict[str, Any]:
    scenery = scenery_of(stage)
    return columns.stage_facts(scenery) | {"movers": scenery.movers.tolist(), "cloud": scenery.cloud}
