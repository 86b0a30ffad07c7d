"""The table of poses: bodies that attacks can hit."""

import re

import numpy as np
import pytest

from selfplay_melee import actions as a
from selfplay_melee.errors import TableError
from selfplay_melee.tables import CHARACTERS, load_tables
from selfplay_melee.tables.poses import FILE, GROUPS, read_poses

tables = load_tables()


def test_every_frame_of_every_action_has_a_pose():
    assert tables.poses.shape[0] == len(CHARACTERS)
    assert tables.poses.min() >= 0
    assert tables.poses.max() < len(tables.capsules)


def test_groups_are_in_the_order_of_their_frames():
    for name, (first, last, start) in GROUPS.items():
        assert first <= last, name
        earlier = [other for other, (low, high, _) in GROUPS.items() if other != name and low <= last and high >= first]
        assert all(GROUPS[other][2] != start for other in earlier), name


def test_a_flight_changes_its_pose_with_the_frames():
    row = tables.poses[tables.character_rows[CHARACTERS["falco"]], a.DAMAGE_FLY_LOW]
    assert len(set(row[:20].tolist())) == len(set(row[20:].tolist())) == 1
    assert row[0] != row[20]


def test_bounds_hold_their_capsules():
    poses = read_poses()
    for capsules, (left, bottom, right, top) in zip(poses.capsules, poses.bounds, strict=True):
        radius = capsules[:, 4]
        for x, y in ((0, 1), (2, 3)):
            assert (capsules[:, x] - radius >= left).all()
            assert (capsules[:, x] + radius <= right).all()
            assert (capsules[:, y] - radius >= bottom).all()
            assert (capsules[:, y] + radius <= top).all()
        assert np.isclose((capsules[:, 0:3:2].max(1) + radius).max(), right)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (r'default = "stand"', 'default = "sit"', "default is 'sit'"),
        (r"\[bodies.marth\]", "[bodies.roy]", "marth is missing"),
        (r"capsules = \[\[0, 0.5, 0, 0.5, 0.5\]\]", "capsules = []", "capsules has 0 entries"),
        (r"\[bodies.ball\]", "[bodies.ball]\nsitting = 1", "sitting is not a known field"),
        (r"characters = \[\"jigglypuff\"[^]]*\]", "characters = 1", "must be a list of names"),
    ],
)
def test_a_bad_table_is_named(tmp_path, old, new, message):
    path = tmp_path / "poses.toml"
    text, count = re.subn(old, new, FILE.read_text(), count=1)
    assert count == 1
    path.write_text(text)
    with pytest.raises(TableError, match=message):
        read_poses(path)
