"""Columns of players and items as peppi-py and slippi-js read them, under our names."""

import json
import tempfile
from pathlib import Path

import numpy as np

from tests.support.processes import finish

HERE = Path(__file__).parent
SLIPPI_JS = HERE / "node_modules" / "@slippi" / "slippi-js"


class Columns:
    """Columns by name: of players [N, 2] with the frame number of each row, and of items [K]; and single facts."""

    def __init__(self, frames, players, items=None, facts=None):
        self.frames = np.asarray(frames, np.int64)
        self.players = players
        self.items = items or {}
        self.facts = facts or {}


# ---------------------------------------------------------------- peppi-py

PEPPI = {
    "pre.random_seed": "pre.random_seed",
    "pre.action": "pre.state",
    "pre.x": "pre.position.x",
    "pre.y": "pre.position.y",
    "pre.facing": "pre.direction",
    "pre.main_x": "pre.joystick.x",
    "pre.main_y": "pre.joystick.y",
    "pre.c_x": "pre.cstick.x",
    "pre.c_y": "pre.cstick.y",
    "pre.trigger": "pre.triggers",
    "pre.processed_buttons": "pre.buttons",
    "pre.physical_buttons": "pre.buttons_physical",
    "pre.l_trigger": "pre.triggers_physical.l",
    "pre.r_trigger": "pre.triggers_physical.r",
    "pre.raw_x": "pre.raw_analog_x",
    "pre.raw_y": "pre.raw_analog_y",
    "pre.percent": "pre.percent",
    "post.character": "post.character",
    "post.action": "post.state",
    "post.x": "post.position.x",
    "post.y": "post.position.y",
    "post.facing": "post.direction",
    "post.percent": "post.percent",
    "post.shield": "post.shield",
    "post.last_attack_landed": "post.last_attack_landed",
    "post.combo_count": "post.combo_count",
    "post.last_hit_by": "post.last_hit_by",
    "post.stocks": "post.stocks",
    "post.state_age": "post.state_age",
    "post.misc": "post.misc_as",
    "post.airborne": "post.airborne",
    "post.ground": "post.ground",
    "post.jumps_left": "post.jumps",
    "post.l_cancel": "post.l_cancel",
    "post.hurtbox_state": "post.hurtbox_state",
    "post.speed_air_x": "post.velocities.self_x_air",
    "post.speed_y": "post.velocities.self_y",
    "post.speed_attack_x": "post.velocities.knockback_x",
    "post.speed_attack_y": "post.velocities.knockback_y",
    "post.speed_ground_x": "post.velocities.self_x_ground",
    "post.hitlag": "post.hitlag",
    "post.animation": "post.animation_index",
}


def peppi(path):
    """All columns that peppi-py has; of a frame that was recorded several times the last row."""
    import peppi_py

    game = peppi_py.read_slippi(str(path))
    frames = game.frames
    numbers = np.asarray(frames.id)
    last = len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]
    columns = {}
    for name, theirs in PEPPI.items():
        seats = [_attribute(port.leader, theirs) for port in frames.ports]
        if all(seat is not None for seat in seats):
            columns[name] = np.stack([np.asarray(seat)[last] for seat in seats], axis=-1)
    flags = [port.leader.post.state_flags for port in frames.ports]
    if all(flags):
        columns["post.flags"] = np.stack([np.stack([np.asarray(b)[last] for b in f], -1) for f in flags], axis=1)
    players = game.start.players
    facts = {
        "start.stage": game.start.stage,
        "start.ports": [int(p.port) for p in players],
        "start.characters": [p.character for p in players],
        "start.costumes": [p.costume for p in players],
        "start.humans": [p.type == 0 for p in players],
        "end.method": None if game.end is None else int(game.end.method),
    }
    if game.end is not None and game.end.players is not None:
        facts["end.placements"] = [p.placement for p in game.end.players]
    return Columns(numbers[last], columns, facts=facts)


def _attribute(thing, dotted):
    for name in dotted.split("."):
        thing = None if thing is None else getattr(thing, name)
    return thing


# ---------------------------------------------------------------- slippi-js

JS = {
    "pre.random_seed": "pre.seed",
    "pre.action": "pre.actionStateId",
    "pre.x": "pre.positionX",
    "pre.y": "pre.positionY",
    "pre.facing": "pre.facingDirection",
    "pre.main_x": "pre.joystickX",
    "pre.main_y": "pre.joystickY",
    "pre.c_x": "pre.cStickX",
    "pre.c_y": "pre.cStickY",
    "pre.trigger": "pre.trigger",
    "pre.processed_buttons": "pre.buttons",
    "pre.physical_buttons": "pre.physicalButtons",
    "pre.l_trigger": "pre.physicalLTrigger",
    "pre.r_trigger": "pre.physicalRTrigger",
    "pre.raw_x": "pre.rawJoystickX",
    "pre.percent": "pre.percent",
    "post.character": "post.internalCharacterId",
    "post.action": "post.actionStateId",
    "post.x": "post.positionX",
    "post.y": "post.positionY",
    "post.facing": "post.facingDirection",
    "post.percent": "post.percent",
    "post.shield": "post.shieldSize",
    "post.last_attack_landed": "post.lastAttackLanded",
    "post.combo_count": "post.currentComboCount",
    "post.last_hit_by": "post.lastHitBy",
    "post.stocks": "post.stocksRemaining",
    "post.state_age": "post.actionStateCounter",
    "post.misc": "post.miscActionState",
    "post.airborne": "post.isAirborne",
    "post.ground": "post.lastGroundId",
    "post.jumps_left": "post.jumpsRemaining",
    "post.l_cancel": "post.lCancelStatus",
    "post.hurtbox_state": "post.hurtboxCollisionState",
    "post.speed_air_x": "speed.airX",
    "post.speed_y": "speed.y",
    "post.speed_attack_x": "speed.attackX",
    "post.speed_attack_y": "speed.attackY",
    "post.speed_ground_x": "speed.groundX",
    "post.hitlag": "post.hitlagRemaining",
    "post.animation": "post.animationIndex",
    "post.instance_hit_by": "post.instanceHitBy",
    "post.instance": "post.instanceId",
    "timing.random_seed": "start.seed",
    "timing.scene_frame": "start.sceneFrameCounter",
}
JS_ITEMS = {
    "items.type": "typeId",
    "items.state": "state",
    "items.facing": "facingDirection",
    "items.vx": "velocityX",
    "items.vy": "velocityY",
    "items.x": "positionX",
    "items.y": "positionY",
    "items.damage": "damageTaken",
    "items.timer": "expirationTimer",
    "items.spawn_id": "spawnId",
    "items.owner": "owner",
    "items.instance": "instanceId",
}
JS_MISC = ("missileType", "turnipFace", "chargeShotLaunched", "chargePower")


def slippi_js_dump(path):
    """Header, rows of players and rows of items of a file, as slippi-js reads it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "columns"
        finish(["node", HERE / "slippi_js.cjs", path, out], check=True, cwd=HERE)
        header, _, rows = out.read_bytes().partition(b"\n")
    header = json.loads(header)
    table = np.frombuffer(rows, "<f8")
    cut = header["playerRows"] * len(header["playerColumns"])
    return (
        header,
        table[:cut].reshape(-1, len(header["playerColumns"])),
        table[cut:].reshape(-1, len(header["itemColumns"])),
    )


def slippi_js(path):
    """All columns that slippi-js has."""
    header, rows, item_rows = slippi_js_dump(path)
    at = {name: i for i, name in enumerate(header["playerColumns"])}
    columns = {}
    for name, theirs in JS.items():
        column = rows[:, at[theirs]].reshape(-1, 2)
        if not np.isnan(column).all():
            columns[name] = column
    at_item = {name: i for i, name in enumerate(header["itemColumns"])}
    items = {name: item_rows[:, at_item[theirs]] for name, theirs in JS_ITEMS.items()}
    items = {name: column for name, column in items.items() if not np.isnan(column).all()}
    if len(item_rows):
        items["frame"] = item_rows[:, at_item["frame"]]
        misc = np.stack([item_rows[:, at_item[n]] for n in JS_MISC], axis=-1)
        if not np.isnan(misc).all():
            items["items.misc"] = misc
    players, end = header["players"], header["end"]
    facts = {
        "start.stage": header["stage"],
        "start.ports": [p["port"] for p in players],
        "start.characters": [p["character"] for p in players],
        "start.costumes": [p["costume"] for p in players],
        "start.humans": [p["type"] == 0 for p in players],
        "start.names": [p["name"] for p in players],
        "end.method": end["gameEndMethod"] if end else None,
    }
    places = {p["playerIndex"]: p.get("position") for p in end["placements"]} if end else {}
    if any(place is not None for place in places.values()):
        facts["end.placements"] = [places[p["port"]] for p in players]
    return Columns(rows[::2, at["frame"]], columns, items, facts)
