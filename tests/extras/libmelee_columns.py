"""Columns of players and items as libmelee reads them, under our names and in its conventions."""

import logging

import numpy as np

from selfplay_melee.controller import BUTTONS
from tests.extras.peer_columns import Columns

PLAYER = {
    "players.x": lambda p: p.position.x,
    "players.y": lambda p: p.position.y,
    "players.facing": lambda p: 1 if p.facing else -1,
    "players.percent": lambda p: p.percent,
    "players.shield": lambda p: p.shield_strength,
    "players.stocks": lambda p: p.stock,
    "players.action": lambda p: p.action.value,
    "players.character": lambda p: p.character.value,
    "players.action_frame": lambda p: p.action_frame,
    "players.jumps_left": lambda p: p.jumps_left,
    "players.on_ground": lambda p: p.on_ground,
    "players.invulnerable": lambda p: p.invulnerable,
    "players.hitstun": lambda p: p.hitstun_frames_left,
    "players.hitlag": lambda p: p.hitlag_left,
    "players.speed_air_x": lambda p: p.speed_air_x_self,
    "players.speed_ground_x": lambda p: p.speed_ground_x_self,
    "players.speed_y": lambda p: p.speed_y_self,
    "players.speed_attack_x": lambda p: p.speed_x_attack,
    "players.speed_attack_y": lambda p: p.speed_y_attack,
    "controllers.main_x": lambda p: p.controller_state.main_stick[0],
    "controllers.main_y": lambda p: p.controller_state.main_stick[1],
    "controllers.c_x": lambda p: p.controller_state.c_stick[0],
    "controllers.c_y": lambda p: p.controller_state.c_stick[1],
    "controllers.shoulder": lambda p: p.controller_state.l_shoulder,
    "controllers.buttons": lambda p: _buttons(p.controller_state.button),
    "pre.raw_x": lambda p: p.controller_state.raw_main_stick[0],
    "pre.raw_y": lambda p: p.controller_state.raw_main_stick[1],
    "ecb_top_x": lambda p: p.ecb.top.x,
}
ITEM = {
    "items.type": lambda i: i.type.value,
    "items.state": lambda i: i.subtype,
    "items.x": lambda i: i.position.x,
    "items.y": lambda i: i.position.y,
    "items.vx": lambda i: i.speed.x,
    "items.vy": lambda i: i.speed.y,
    "items.timer": lambda i: i.expiration_frames,
    "items.spawn_id": lambda i: i.spawn_id,
    "items.owner": lambda i: i.owner - 1,
}


def libmelee(path):
    """All columns that libmelee has, frame by frame, and the (character, action) pairs that it counts from 1."""
    import melee

    logging.disable(logging.ERROR)  # it logs every event that it does not know
    console = melee.Console(path=str(path), is_dolphin=False, allow_old_version=True)
    if not console.connect():
        raise OSError(f"libmelee cannot open {path}")
    frames, rows, items, platforms = [], [], [], []
    while (state := console.step()) is not None:
        if len(state.players) < 2 or (frames and state.frame == frames[-1]):
            continue  # files before 3.0 are given once more with nothing in them
        ports = sorted(state.players)[:2]
        frames.append(int(state.frame))
        rows.append([[get(state.players[port]) for get in PLAYER.values()] for port in ports])
        items.extend([int(state.frame), *(get(item) for get in ITEM.values())] for item in state.projectiles)
        heights = getattr(state, "fod_platforms", None)
        platforms.append([heights.left, heights.right] if heights is not None else [np.nan, np.nan])
    table, item_table = np.array(rows, float), np.array(items, float).reshape(-1, 1 + len(ITEM))
    columns = {name: table[:, :, i] for i, name in enumerate(PLAYER)}
    columns["fod_platforms"] = np.array(platforms)
    item_columns = {name: item_table[:, 1 + i] for i, name in enumerate(ITEM)}
    item_columns["frame"] = item_table[:, 0]
    return Columns(frames, columns, item_columns), console.zero_indices


def in_its_conventions(ours, replay):
    """Our columns [T, 2] as libmelee gives such values."""
    columns = dict(ours)
    for name in ("main_x", "main_y", "c_x", "c_y"):  # 0..1, worked out with 32-bit floats
        columns[f"controllers.{name}"] = (replay.pre[name] / np.float32(2) + np.float32(0.5)).astype(np.float32)
    for name in ("action_frame", "hitlag"):  # whole frames
        if f"players.{name}" in columns:
            columns[f"players.{name}"] = np.trunc(columns[f"players.{name}"])
    columns["players.facing"] = np.where(columns["players.facing"] > 0, 1, -1)
    if "players.hitstun" in columns:  # of any action, also where the field means something else
        misc = replay.post["misc"].astype(float)
        columns["players.hitstun"] = np.where(np.isfinite(misc), np.trunc(misc), 0)
    return columns


def _buttons(pressed):
    import melee

    return sum(1 << i for i, name in enumerate(BUTTONS) if pressed[melee.Button[f"BUTTON_{name}"]])
