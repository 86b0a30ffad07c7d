"""Real .slp files of slp versions 1.0 to 3.19, where the folder of replays is beside this one."""

import numpy as np
import pytest

from scripts.studies.bench.replays import frames_per_second
from selfplay_melee.errors import ReplayError
from selfplay_melee.replay import End, read_replay, save_replay
from tests.melee.slp_files import REAL, assert_same, needs_real_files

pytestmark = needs_real_files

# name: version, our stage, ports, characters at the start, frames, rows of items, rolled-back frames, end
FILES = {
    "puff_fox_YS_v2.0": ((2, 0, 1), 6, (0, 1), (15, 1), 10739, 0, 0, End(2, None, None)),
    "falcon_zelda_BF_v1.7_transform": ((1, 7, 1), 24, (1, 3), (2, 19), 3534, 0, 0, End(0, None, None)),
    "falco_fox_PS_v3.3_peppipanic": ((3, 3, 0), 18, (1, 3), (22, 1), 9079, 2926, 0, End(2, None, None)),
    "marth_falcocpu_FD_v3.13": ((3, 13, 0), 25, (0, 1), (18, 22), 7405, 8, 0, End(2, None, (0, 1))),
    "falco_falco_YS_v3.15_rollback": ((3, 15, 0), 6, (0, 1), (22, 22), 5023, 6946, 1494, End(2, None, (0, 1))),
    "sheik_mewtwo_BF_v3.16_ranked": ((3, 16, 0), 24, (0, 1), (7, 16), 6402, 2301, 0, None),
    "marth_falconcpu_FoD_v3.18": ((3, 18, 0), 8, (0, 1), (18, 2), 941, 0, 0, End(7, 0, (0, 1))),
    "mewtwo_fox_FD_v3.19.1": ((3, 19, 1), 25, (0, 1), (16, 1), 11510, 0, 0, End(2, None, (1, 0))),
    "EDGE_unknown_event": ((1, 0, 0), 6, (0, 1), (18, 1), 5209, 0, 0, End(3, None, None)),
}


@pytest.mark.parametrize("name", FILES)
def test_it_reads_as_known(name):
    version, stage, ports, characters, frames, items, rolled_back, end = FILES[name]
    replay = read_replay(REAL / f"{name}.slp")
    assert (replay.version, replay.stage, replay.end) == (version, stage, end)
    assert tuple(seat.port for seat in replay.seats) == ports
    assert tuple(seat.character for seat in replay.seats) == characters
    assert (len(replay.pre), len(replay.items), replay.rolled_back.sum()) == (frames, items, rolled_back)
    np.testing.assert_array_equal(replay.state.game["frame"], np.arange(-123, frames - 123))
    assert replay.complete == (end is not None)


@pytest.mark.parametrize("name", FILES)
def test_it_is_written_as_it_was_read(name, tmp_path):
    replay = read_replay(REAL / f"{name}.slp")
    save_replay(tmp_path / "again.slp", replay)
    assert_same(replay, read_replay(tmp_path / "again.slp"), skip=("path", "rolled_back", "problems"))


@pytest.mark.parametrize("name", FILES)
def test_values_are_those_of_a_game(name):
    players, controllers = (
        getattr(read_replay(REAL / f"{name}.slp").state, part) for part in ("players", "controllers")
    )
    assert (players["percent"] >= 0).all()
    assert ((players["shield"] >= 0) & (players["shield"] <= 60)).all()
    assert (players["stocks"] <= 4).all()
    assert np.isin(players["facing"], (-1, 0, 1)).all()
    assert (np.abs(players["x"]) < 500).all()
    for axis in ("main_x", "main_y", "c_x", "c_y"):
        assert (np.abs(controllers[axis]) <= 1).all(), axis
    assert ((controllers["shoulder"] >= 0) & (controllers["shoulder"] <= 1)).all()


def test_zelda_becomes_sheik():
    replay = read_replay(REAL / "falcon_zelda_BF_v1.7_transform.slp")
    assert set(np.unique(replay.state.players["character"][:, 1]).tolist()) == {7, 19}


def test_a_computer_player_has_inputs():
    replay = read_replay(REAL / "marth_falcocpu_FD_v3.13.slp")
    assert [seat.human for seat in replay.seats] == [True, False]
    assert (replay.pre["physical_buttons"][:, 1] == 0).all()
    assert np.count_nonzero(replay.state.controllers["buttons"][:, 1]) > 50


def test_platforms_move_where_they_are_recorded():
    replay = read_replay(REAL / "marth_falconcpu_FoD_v3.18.slp")
    first = np.flatnonzero(replay.state.game["frame"] == 700)[0]
    assert np.isnan(replay.fod_platforms[:first]).all()
    np.testing.assert_array_almost_equal(replay.fod_platforms[first : first + 2, 0], [20.15, 20.30], decimal=3)
    assert not replay.absent
    standing = (replay.state.players["on_ground"] == 1) & (replay.post["ground"] == 0)  # the left platform
    rows = np.flatnonzero(standing[:first].any(axis=1))
    on = np.where(standing[rows, 0], replay.state.players["y"][rows, 0], replay.state.players["y"][rows, 1])
    np.testing.assert_allclose(on, replay.state.game["fountain_left"][rows], atol=2e-4)


def test_a_file_cut_before_its_first_frame_has_none():
    replay = read_replay(REAL / "EDGE_truncated.slp")
    assert replay.state.players.shape == (0, 2)
    assert not replay.complete
    assert "byte 28383: event 0x10 is not whole, nothing behind it is read" in replay.problems


def test_an_unknown_event_is_reported():
    assert read_replay(REAL / "EDGE_unknown_event.slp").problems == ("1 unknown events 0xff skipped",)


def test_a_version_before_1_0_is_refused():
    with pytest.raises(ReplayError, match=r"EDGE_v0.1_too_old.slp: byte 30: version 0.1.0 is too old"):
        read_replay(REAL / "EDGE_v0.1_too_old.slp")


def test_speed_is_measured_over_all_files_together():
    assert frames_per_second([REAL / "marth_falconcpu_FoD_v3.18.slp"], rounds=1) > 0
