import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfplay.league.pruning import prune

NAMES = [f"gen_{i}" for i in range(100)]


def left_of(names, strengths, limit, keep=()):
    gone = prune(names, strengths, limit, keep)
    assert len(set(gone)) == len(gone)
    return [name for name in names if name not in gone]


def test_without_strengths_the_history_is_thinned_evenly():
    left = left_of(NAMES, {}, 10)
    ages = [NAMES.index(name) for name in left]
    assert ages[0] == 0
    assert ages[-1] == 99
    assert np.diff(ages).max() <= 2 * 100 / 9


def test_crowds_leave_and_the_gaps_stay_covered():
    rng = np.random.default_rng(0)
    elo = np.concatenate([np.linspace(1000, 2000, 20), 2000 + rng.normal(0, 5, 80)])  # most at one strength
    strengths = dict(zip(NAMES, elo.tolist(), strict=True))
    left = left_of(NAMES, strengths, 25)
    found = np.sort([strengths[name] for name in left])
    assert np.diff(found).max() <= np.diff(np.sort(elo)).max() * 2 + 1e-9
    assert sum(strength < 1990 for strength in found) >= 18, "those who stand alone stay"
    newest_only = [strengths[name] for name in NAMES[-25:]]
    assert np.ptp(newest_only) < 40 < np.ptp(found)


def test_whoever_must_be_kept_is_kept():
    keep = {"gen_40", "gen_41", "gen_42"}
    strengths = dict.fromkeys(NAMES, 1500.0)
    assert keep <= set(left_of(NAMES, strengths, 6, keep))


def test_nobody_leaves_while_there_is_room():
    assert prune(NAMES[:5], {}, 5) == []
    assert prune([], {}, 3) == []


def test_if_all_must_stay_nobody_leaves():
    assert prune(NAMES[:8], {}, 3, NAMES[:8]) == []


@given(
    strengths=st.lists(st.one_of(st.none(), st.floats(0, 3000)), min_size=3, max_size=30),
    limit=st.integers(2, 30),
)
@settings(max_examples=60)
def test_ends_stay_and_the_limit_holds(strengths, limit):
    names = NAMES[: len(strengths)]
    known = {name: value for name, value in zip(names, strengths, strict=True) if value is not None}
    left = left_of(names, known, limit)
    assert len(left) <= max(limit, 4)  # the ends by age and by strength
    assert {names[0], names[-1]} <= set(left)
    if known and len(known) == len(names):
        assert {min(known.values()), max(known.values())} <= {known[name] for name in left}


@pytest.mark.parametrize("strengths", [{}, dict.fromkeys(NAMES, 1500.0)])
def test_a_history_that_grows_by_one_at_a_time_stays_spread(strengths):
    left = []
    for name in [f"gen_{10 * i}" for i in range(300)]:
        left.append(name)
        left = left_of(left, strengths, 20)
    ages = [int(name.removeprefix("gen_")) for name in left]
    assert len(left) == 20
    assert ages[0] == 0
    assert max(np.diff(ages)) <= 4 * 2990 / 19
