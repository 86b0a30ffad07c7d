"""What ``scene.js`` has to know to fill the columns of a film while a fight goes on, and pages to play one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from selfplay_melee.actions import CATEGORIES, CATEGORY_OF, FIRST_SPECIAL, NUM_ACTIONS
from selfplay_melee.browser.game import CHECKED, FORMAT
from selfplay_melee.controller import AXES, BUTTONS, C_X, CENTRE, HIGHEST, MAIN_X, NEUTRAL, SHOULDER
from selfplay_melee.drawing import camera, columns, events, scene
from selfplay_melee.drawing.burst import burst_facts
from selfplay_melee.drawing.figure import JOINTS, rig_of
from selfplay_melee.drawing.looks import SHIELD_FULL, look_of
from selfplay_melee.drawing.poses import period_of
from selfplay_melee.drawing.scenery import scenery_of
from selfplay_melee.drawing.story import action_name
from selfplay_melee.limits import ENDED_BY
from selfplay_melee.physics.actions.death import TIMER
from selfplay_melee.physics.stages.platforms import RANDALL_LOOP, RANDALL_PATH

SCRIPTS: Final = ("camera.js", "events.js", "scene.js", "moment.js")
"""Modules of this folder, each after those that it imports."""


def scene_facts(characters: Sequence[int], stages: Sequence[int]) -> dict[str, Any]:
    """The ``facts`` of ``LiveFilm`` and of a ``Match``, which go into JSON; by Melee's ids.

    The tables of ``LiveFilm`` are ``figures.move_tables``.
    """
    return {
        **columns.film_facts(),
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
        "longest": TIMER + 2,  # moments: one before and one after the eight minutes of a game
        "cloud": {"loop": RANDALL_LOOP, "path": RANDALL_PATH.tolist()},
        "camera": {
            "ahead": camera.AHEAD,
            "around": camera.AROUND,
            "narrowest": camera.NARROWEST,
            "room": camera.ROOM,
            "aspect": camera.ASPECT,
        },
        "axes": AXES,
        "controller": controller_facts(),
        "document": {"format": FORMAT, "checked": CHECKED, "ended": ENDED_BY},
    }


def controller_facts() -> dict[str, Any]:
    """The layout of an action; of a stick, its first field."""
    return {
        "buttons": BUTTONS,
        "sticks": {"main": MAIN_X, "c": C_X},
        "shoulder": SHOULDER,
        "centre": CENTRE,
        "neutral": NEUTRAL.tolist(),
        "highest": HIGHEST.tolist(),
    }


def _stage(stage: int) -> dict[str, Any]:
    scenery = scenery_of(stage)
    return columns.stage_facts(scenery) | {"movers": scenery.movers.tolist(), "cloud": scenery.cloud}
