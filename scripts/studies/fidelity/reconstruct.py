"""Reconstruct the mock's memory of the players of a replay.

A replay lacks, for example, the ages of stick inputs, the staleness queue and the ledge lockout. One pass over the
frames derives them with the mock's own rules; the memory of a frame depends on this frame and earlier ones only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fidelity.follow import follow
from scripts.studies.fidelity.shots import place_shots
from scripts.studies.fidelity.stages import stage_state
from selfplay_melee.actions import NUM_ACTIONS, name_common
from selfplay_melee.physics.inputs import DEAD_ZONE, RIM
from selfplay_melee.physics.memory import MEMORY
from selfplay_melee.replay import read_replay
from selfplay_melee.state import NUM_SEATS, as_records, records
from selfplay_melee.tables import Tables, load_tables

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay_melee.replay import Replay

RAW_STICKS = {"main_x": "raw_x", "main_y": "raw_y"}
CARDINALS_FROM = (3, 18, 0)  # the version of the recording
CARDINAL_SLACK = 6  # steps
MOST_REST = 0.27  # of a stick in its dead zone


class ReplayArrays(NamedTuple):
    """T frames of a replay."""

    game: NDArray[np.void]  # GAME [T]
    players: NDArray[np.void]  # PLAYER [T, 2]
    controllers: NDArray[np.void]  # CONTROLLER [T, 2]
    memory: NDArray[np.void]  # MEMORY [T, 2]


def read_scored(path: Path) -> Replay:
    """A replay whose players have the common numbers of attacks that are states of their own in the game.

    Raises:
        ReplayError: the file is no replay.
    """
    replay = read_replay(path)
    name_common(replay.state.players)
    return replay


def reconstruct_memory(replay: Replay, tables: Tables | None = None) -> NDArray[np.void]:
    """MEMORY [T, 2] of a replay whose stage and characters are in the tables."""
    memory = records(MEMORY, len(replay.state.players), NUM_SEATS)
    tables = tables or load_tables()
    if len(memory):
        follow(replay_arrays(replay, memory), tables)
        place_shots(replay, memory, tables)
    return memory


def replay_arrays(replay: Replay, memory: NDArray[np.void]) -> ReplayArrays:
    """A replay as compiled functions take it."""
    return ReplayArrays(stage_state(replay), _players(replay), _controllers(replay), memory)


def _controllers(replay: Replay) -> NDArray[np.void]:
    """CONTROLLER [T, 2] with what the game does not record of its inputs.

    The game records a stick after its dead zone, where the Universal Controller Fix looks at it before; and from 3.18
    on before the Fix takes a stick near a cardinal direction as exactly there.
    """
    controllers = as_records(replay.state.controllers.copy())
    if "pre.raw_x" not in replay.absent:
        over = replay.pre["raw_x"] / RIM - controllers["main_x"]
        swing = over.copy()
        swing[:-2] -= over[2:]  # so that two frames later the difference is exact, whatever the gate cuts off
        rest = (controllers["main_x"] == 0.0) & (np.abs(over) < DEAD_ZONE)
        controllers["main_x"] = np.where(rest, np.clip(swing, -MOST_REST, MOST_REST), controllers["main_x"])
    if tuple(replay.version) >= CARDINALS_FROM:
        for axis, other in (("main_x", "main_y"), ("main_y", "main_x")):
            along, across = replay.pre[RAW_STICKS[axis]], replay.pre[RAW_STICKS[other]]
            snapped = (np.abs(along) >= RIM) & (np.abs(across) <= CARDINAL_SLACK)
            controllers[axis] = np.where(snapped, np.sign(along), controllers[axis])
            controllers[other] = np.where(snapped, 0.0, controllers[other])
    return controllers


def _players(replay: Replay) -> NDArray[np.void]:
    """PLAYER [T, 2]; speeds that an old file does not record are differences of positions.

    Actions above those of the tables, Kirby's with the moves of others, become a special move without a table.
    """
    players = as_records(replay.state.players.copy())
    players["action"] = np.clip(players["action"], 0, NUM_ACTIONS - 1)
    if "players.speed_y" in replay.absent:
        for name, step in (("speed_air_x", "x"), ("speed_ground_x", "x"), ("speed_y", "y")):
            players[name] = np.diff(players[step], axis=0, prepend=players[step][:1])
        players["speed_attack_x"] = players["speed_attack_y"] = 0.0
    if "players.hitlag" in replay.absent:
        players["hitlag"] = 0.0
    return players
