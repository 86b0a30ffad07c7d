"""Small replay files made for tests, and the same files taken apart into events."""

import dataclasses
import struct
from pathlib import Path

import numpy as np
import pytest

from selfplay_melee.replay import End, replay_of, save_replay, seat_of
from selfplay_melee.slp import layout
from selfplay_melee.slp.model import ITEM
from selfplay_melee.state import GameState

REAL = Path(__file__).parents[3] / "shared" / "replays"
needs_real_files = pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real replays is not beside this one")

FOX, MARTH = 1, 18
FINAL_DESTINATION, FOUNTAIN = 25, 8
VERSIONS = (
    (1, 0, 0),
    (1, 2, 0),
    (2, 0, 1),
    (2, 2, 0),
    (3, 0, 0),
    (3, 3, 0),
    (3, 7, 0),
    (3, 9, 1),
    (3, 13, 0),
    (3, 18, 0),
)


def random_state(frames, seed=0, first=-123):
    """A state in which every column of every frame has a value of its own that a file can hold."""
    rng = np.random.default_rng(seed)
    state = GameState.zeros(frames)
    state.game["frame"] = np.arange(first, first + frames)
    for name in state.players.dtype.names:
        column = state.players[name]
        column[...] = (
            rng.uniform(-99, 99, column.shape) if column.dtype.kind == "f" else rng.integers(0, 200, column.shape)
        )
    for name in ("on_ground", "invulnerable"):
        state.players[name] %= 2
    state.players["hitstun"] = np.maximum(state.players["hitstun"], 0)
    state.players["character"] = [FOX, MARTH]
    state.game["fountain_left"], state.game["fountain_right"] = rng.uniform(0, 40, (2, frames))
    for name in ("main_x", "main_y", "c_x", "c_y"):
        state.controllers[name] = rng.integers(-80, 81, (frames, 2)) / 80
    state.controllers["shoulder"] = rng.integers(0, 141, (frames, 2)) / 140
    state.controllers["buttons"] = rng.integers(0, 256, (frames, 2))
    return state


def random_values(rng, column):
    if column.dtype.kind == "f":
        return rng.uniform(-99, 99, column.shape)
    return rng.integers(0, 100, column.shape)


def random_items(frames, count, seed=0):
    rng = np.random.default_rng(seed)
    items = np.zeros(count, ITEM).view(np.recarray)
    for name in ITEM.names:
        column = items[name]
        column[...] = (
            rng.uniform(-9, 9, column.shape) if column.dtype.kind == "f" else rng.integers(0, 100, column.shape)
        )
    items["t"] = np.sort(rng.integers(0, frames, count))
    return items


def seats(ports=(0, 2)):
    return seat_of(ports[0], FOX, human=True, name="Anna"), seat_of(ports[1], MARTH, name="Box")


def synthetic(frames=20, version=(3, 18, 0), seed=0, stage=FINAL_DESTINATION, **more):
    """A replay of which every recorded column is filled."""
    replay = replay_of(random_state(frames, seed), seats(), stage, items=random_items(frames, 7, seed), **more)
    return dataclasses.replace(replay, version=version, end=End(2, None, (1, 0)))


def file_bytes(tmp_path, replay):
    path = tmp_path / "made.slp"
    save_replay(path, replay)
    return path.read_bytes()


class Parts:
    """A file as the list of its events, to be changed and joined again."""

    def __init__(self, data):
        (length,) = struct.unpack_from(">I", data, 11)
        self.tail = data[15 + length :]
        table_size = data[16]
        table = data[17 : 16 + table_size]
        self.sizes = dict(struct.iter_unpack(">BH", table))
        self.events = []
        position = 16 + table_size
        while position < 15 + length:
            size = 1 + self.sizes[data[position]]
            self.events.append(data[position : position + size])
            position += size

    def bytes(self, length=None):
        """The file; ``length`` in place of the true length of the stream."""
        table = b"".join(struct.pack(">BH", command, size) for command, size in self.sizes.items())
        stream = bytes((layout.EVENT_PAYLOADS, len(table) + 1)) + table + b"".join(self.events)
        return b"{U\x03raw[$U#l" + struct.pack(">I", len(stream) if length is None else length) + stream + self.tail

    def of_frame(self, frame):
        """Indices of the events of a frame."""
        framed = range(layout.PRE_FRAME, layout.STADIUM + 1)
        return [
            i
            for i, event in enumerate(self.events)
            if event[0] in framed and event[0] != layout.GAME_END and struct.unpack_from(">i", event, 1)[0] == frame
        ]


def assert_same(left, right, skip=()):
    """Two replays agree in every field, NaN included."""
    for field in dataclasses.fields(left):
        if field.name in skip:
            continue
        a, b = getattr(left, field.name), getattr(right, field.name)
        if field.name == "state":
            for part in ("game", "players", "controllers"):
                assert_same_array(getattr(a, part), getattr(b, part), part)
        elif isinstance(a, np.ndarray):
            assert_same_array(a, b, field.name)
        else:
            assert a == b, field.name


def assert_same_array(a, b, name):
    assert a.dtype == b.dtype, name
    assert a.shape == b.shape, name
    for column in a.dtype.names or (None,):
        left, right = (a, b) if column is None else (a[column], b[column])
        np.testing.assert_array_equal(left, right, err_msg=f"{name}.{column}")
