"""Events of a game frame by frame are those of the whole game."""

import dataclasses

import numpy as np
import pytest

from selfplay_melee.replay import ITEM, replay_of
from selfplay_melee.slp.columns import recorded_heights
from selfplay_melee.slp.container import find_stream
from selfplay_melee.slp.encode import encode
from selfplay_melee.slp.start import Start, read_start, write_start
from selfplay_melee.state import records
from tests.melee.slp_files import FINAL_DESTINATION, FOUNTAIN, VERSIONS, random_state, seats
from tests.support.fake_dolphin.live import Item, LiveEvents

FRAMES = 40
PORTS = (1, 3)


def events_behind_start(data):
    """The events of a file behind those that open it."""
    stream = find_stream(data)
    first = stream.begin + 1 + data[stream.begin + 1]
    sizes = {data[i]: int.from_bytes(data[i + 1 : i + 3], "big") for i in range(stream.begin + 2, first, 3)}
    return data[first + 1 + sizes[0x36] : stream.end]


def lasers(count):
    """Items [FRAMES] and the same as a column of a replay."""
    rng = np.random.default_rng(3)
    rows = records(ITEM, FRAMES * count)
    rows["t"] = np.repeat(np.arange(FRAMES), count)
    for name in ("vx", "vy", "x", "y", "timer"):
        rows[name] = rng.uniform(-50, 50, len(rows))
    rows["type"], rows["facing"] = 54, np.where(rows["vx"] >= 0, 1.0, -1.0)
    rows["spawn_id"], rows["owner"] = np.arange(len(rows)) % 7, 3
    items = [
        Item(54, *(float(row[name]) for name in ("vx", "vy", "x", "y", "timer")), int(row["spawn_id"]), 3)
        for row in rows
    ]
    return rows, [items[i * count : (i + 1) * count] for i in range(FRAMES)]


@pytest.mark.parametrize("stage", [FINAL_DESTINATION, FOUNTAIN])
@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_frame_by_frame_as_the_whole_game(version, stage):
    state = random_state(FRAMES)
    state.game["stage"] = stage
    state.game["fountain_left"][5:9] = 20.0  # stands still for a while
    rows, items = lasers(2)
    whole = replay_of(state, seats(), stage, items=rows)
    whole = dataclasses.replace(
        whole, version=version, end=None,
        seats=tuple(dataclasses.replace(seat, port=port) for seat, port in zip(whole.seats, PORTS, strict=True)),
    )  # fmt: skip
    live = LiveEvents(version, PORTS)
    heights = recorded_heights(state.game).tolist() if stage == FOUNTAIN else [()] * FRAMES
    players, controllers = state.players.tolist(), state.controllers.tolist()
    packed = b"".join(
        live.pack(number, players[max(t - 1, 0)], controllers[t], players[t], heights=tuple(heights[t]), items=items[t])
        for t, number in enumerate(state.game["frame"].tolist())
    )
    assert packed == events_behind_start(encode(whole))


def test_buttons_that_a_controller_does_not_have():
    state = random_state(1)
    players, controllers = state.players.tolist()[0], [(0.0, 0.0, 0.0, 0.0, 0.0, 1)] * 2
    plain = LiveEvents((1, 0, 0), PORTS).pack(-123, players, controllers, players)
    event = LiveEvents((1, 0, 0), PORTS).pack(-123, players, controllers, players, more_buttons=(0x1000, 0))
    assert int.from_bytes(event[0x2D:0x31], "big") == int.from_bytes(plain[0x2D:0x31], "big") | 0x1000 == 0x1100
    assert int.from_bytes(event[0x31:0x33], "big") == 0x1100
    assert event[0x3B:] == plain[0x3B:]


def test_the_level_of_a_computer_player_is_written_and_read():
    start = read_start(write_start(Start(2, False, False, ()), (3, 18, 0)), (3, 18, 0))
    assert start.ports == ()
    ports = tuple(dataclasses.replace(port, kind=1, level=7) for port in _ports())
    written = write_start(Start(2, False, False, ports), (3, 18, 0))
    assert read_start(written, (3, 18, 0)).ports == ports
    assert written[0x74 + 0x24 * PORTS[0]] == 7


def _ports():
    from selfplay_melee.slp.start import PortStart

    return [PortStart(port, 2, 0, 4, 0, "") for port in PORTS]
