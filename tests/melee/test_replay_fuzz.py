"""Damaged files give what is whole or a ReplayError; never anything else."""

from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from selfplay_melee.errors import ReplayError
from selfplay_melee.replay import read_replay
from selfplay_melee.slp import scan
from selfplay_melee.slp.encode import encode
from tests.melee.slp_files import REAL, assert_same, needs_real_files, synthetic

FUZZED = settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
HEAD_BYTES = 1500  # the table of sizes and the start event
FOLLOWED_BYTES = 300_000  # larger files are not followed one by one: it takes time


@cache
def made():
    return [encode(synthetic(frames=12, version=version)) for version in ((1, 0, 0), (3, 3, 0), (3, 18, 0))]


@cache
def real():
    return [path.read_bytes() for path in sorted(REAL.glob("*.slp"))]


def check(data):
    """A replay or a ReplayError, and the same whether recordings are compared or followed one by one."""
    with suppress(ReplayError):
        replay = read_replay(data)
        check_replay(replay, data)
        if len(data) > FOLLOWED_BYTES:
            return
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scan, "ALIKE", len(data))
            assert_same(read_replay(data), replay)


def check_replay(replay, data):
    """It is in itself consistent, and not larger than the file allows."""
    count = len(replay.pre)
    assert replay.state.players.shape == replay.state.controllers.shape == replay.post.shape == (count, 2)
    assert len(replay.timing) == len(replay.rolled_back) == len(replay.whispy) == len(replay.stadium) == count
    assert (np.diff(replay.state.game["frame"]) > 0).all()
    assert count * 150 <= len(data)  # two inputs and two states
    assert len(replay.items) * 38 <= len(data)
    assert ((replay.items["t"] >= 0) & (replay.items["t"] < max(count, 1))).all()
    assert (np.diff(replay.items["t"]) >= 0).all()
    if not replay.complete:
        assert replay.problems


def damaged(data, cut, flips):
    """The first part of a file (in thousandths of it) with bits flipped: (near its head, where, which)."""
    data = bytearray(data[: len(data) * cut // 1000])
    for in_head, where, bit in flips:
        if data:
            data[where % min(len(data), HEAD_BYTES if in_head else len(data))] ^= 1 << bit
    return bytes(data)


FLIPS = st.lists(st.tuples(st.booleans(), st.integers(0, 2**31), st.integers(0, 7)), max_size=20)
CUTS = st.one_of(st.just(1000), st.integers(0, 1000))


@FUZZED
@given(st.integers(0, 2), CUTS, FLIPS)
def test_damaged_made_files(which, cut, flips):
    check(damaged(made()[which], cut, flips))


@pytest.mark.full
def test_every_truncation_of_a_made_file():
    data = made()[2]
    for length in [*range(1100), *range(1100, len(data), 13)]:
        check(data[:length])


@FUZZED
@given(st.binary(max_size=300), st.booleans())
def test_garbage(garbage, with_header):
    check(b"{U\x03raw[$U#l\0\0\0\0" * with_header + garbage)


@needs_real_files
@FUZZED
@given(st.integers(0, 100), CUTS, FLIPS)
def test_damaged_real_files(which, cut, flips):
    check(damaged(real()[which % len(real())], cut, flips))


@needs_real_files
def test_files_that_claim_far_frames_stay_small():
    """A frame number of one event says nothing of how many frames there are."""
    data = bytearray(made()[0])
    at = data.rindex(b"\x38\xff\xff\xff")
    data[at + 1 : at + 5] = (400_000).to_bytes(4, "big")
    replay = read_replay(bytes(data))
    assert len(replay.pre) == 11
    assert not replay.complete
