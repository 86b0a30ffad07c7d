"""Other readers of .slp files agree with ours, on real files and on those that we write."""

import dataclasses
import importlib.util
from pathlib import Path

import pytest

from selfplay_melee.replay import End, read_replay, save_replay, write_replay
from tests.extras.peer_columns import SLIPPI_JS
from tests.extras.replay_peers import PEERS, log_of, measure
from tests.melee.slp_files import FOUNTAIN, REAL, needs_real_files, random_state, seats, synthetic

LOG = Path(__file__).parents[2] / "docs" / "data" / "replay_peers.txt"
MISSING = [name for name in ("melee", "peppi_py") if importlib.util.find_spec(name) is None]
MISSING += [] if SLIPPI_JS.is_dir() else ["slippi-js (npm install --prefix tests/extras)"]

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.filterwarnings("default"),  # of other people's code
]

# What differs, and why, stands in docs/melee/replays.md.
KNOWN_DIFFERENCES = {
    "libmelee": {
        "controllers.buttons, computers",
        "controllers.main_x, rolled back",
        "players.action, rolled back",
        "players.action_frame",
        "players.x, rolled back",
    },
    "peppi-py": set(),
    "slippi-js": set(),
}
CANNOT_READ = {
    "libmelee": {"EDGE_truncated", "EDGE_unknown_event"},
    "peppi-py": {"EDGE_truncated", "falco_fox_PS_v3.3_peppipanic"},
    "slippi-js": set(),
}


@pytest.fixture(scope="module")
def measured():
    """All real files that we read, by all peers."""
    paths = [path for path in sorted(REAL.glob("*.slp")) if "too_old" not in path.name]
    return paths, *measure(paths)


@needs_real_files
@pytest.mark.parametrize("peer", PEERS)
def test_all_fields_of_real_files_agree(measured, peer):
    _, tallies, failures = measured
    assert failures[peer].keys() == CANNOT_READ[peer]
    assert tallies[peer].differing() == KNOWN_DIFFERENCES[peer]
    assert sum(tallies[peer].compared.values()) > 2_000_000


@needs_real_files
def test_the_log_is_of_these_readers(measured):
    assert LOG.read_text() == log_of(*measured), "python tests/extras/replay_peers.py ../shared/replays/*.slp"


@pytest.mark.parametrize("version", [(1, 7, 1), (2, 0, 1), (3, 7, 0), (3, 9, 0), (3, 13, 0), (3, 16, 0), (3, 18, 0)])
def test_files_that_we_write_are_read_by_all(tmp_path, version):
    path = tmp_path / "made.slp"
    replay = synthetic(frames=300, version=version)
    save_replay(path, replay)
    tallies, failures = measure([path])
    assert failures == {peer: {} for peer in PEERS}
    assert read_replay(path).complete
    for peer in PEERS:
        assert tallies[peer].differing() <= {"players.action_frame", "controllers.buttons, computers"}, peer
        assert tallies[peer].compared["start.stage" if peer != "libmelee" else "players.x"] > 0


@pytest.mark.parametrize("first", [-123, 0])
def test_a_game_of_the_mock_is_read_by_all(tmp_path, first):
    path = tmp_path / "mock.slp"
    write_replay(path, random_state(120, first=first), seats(ports=(1, 3)), FOUNTAIN, end=End(2, None, (0, 1)))
    tallies, failures = measure([path])
    assert failures == {peer: {} for peer in PEERS}
    assert tallies["libmelee"].equal["fod_platforms"] == 240
    for peer in PEERS:
        assert tallies[peer].differing() <= {"players.action_frame", "controllers.buttons, computers"}, peer


def test_a_difference_would_be_seen(tmp_path):
    """One bit of one value, and the tally says so."""
    path = tmp_path / "made.slp"
    replay = synthetic(frames=50)
    save_replay(path, replay)
    other = dataclasses.replace(replay, post=replay.post.copy())
    other.post["shield"][7, 1] += 1
    from tests.extras.replay_peers import Tally, with_peppi, with_slippi_js

    for compare_with in (with_peppi, with_slippi_js):
        tally = Tally()
        compare_with(other, path, tally)
        assert tally.differing() == {"post.shield"}
        assert tally.compared["post.shield"] - tally.equal["post.shield"] == 1
