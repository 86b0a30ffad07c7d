"""Sixty frames a second, whatever the refresh rate of the screen and the jitter of its callbacks."""

import json
from pathlib import Path

import pytest

from tests.support.node import gather, needs_node, run_node

pytestmark = needs_node
HERE = Path(__file__).parent
VIEW = HERE.parents[2] / "envs" / "selfplay_melee" / "play_page" / "view"
RATES = (30, 50, 59.94, 60, 60.3, 72, 75, 90, 100, 120, 143.9, 144, 165, 240, 360)
ODD = (48, 85, 95)  # rates for which no ratio is kept
JITTER_MS = (0.0, 1.0, 6.0)
CASES = [(rate, jitter) for rate in (*RATES, *ODD) for jitter in JITTER_MS if jitter < 500 / rate]
MISSED = [(60, 2.0, 0.2), (144, 1.0, 0.3), (60, 0.0, 0.3)]


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    script = gather(tmp_path_factory.mktemp("pace"), VIEW / "loop.js", HERE / "pace_cases.js")
    return dict(zip((*CASES, *MISSED), json.loads(run_node(script, json.dumps([*CASES, *MISSED]))), strict=True))


@pytest.mark.parametrize(("rate", "jitter"), CASES)
def test_the_game_has_its_speed(frames, rate, jitter):
    found = frames[rate, jitter]
    assert sum(found) / len(found) * rate == pytest.approx(60, rel=0.013)


@pytest.mark.parametrize(("rate", "jitter"), [case for case in CASES if case[0] in (59.94, 60, 60.3)])
def test_a_usual_screen_has_one_frame_at_each_refresh(frames, rate, jitter):
    assert set(frames[rate, jitter]) == {1}


@pytest.mark.parametrize(("rate", "each"), [(30, [2, 2]), (120, [0, 1]), (240, [0, 0, 0, 1])])
@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_other_screens_have_an_even_rhythm(frames, rate, each, jitter):
    found = frames[rate, jitter]
    start = next(n for n in range(len(each)) if found[n : n + len(each)] == each)
    assert all(found[n : n + len(each)] == each for n in range(start, len(found) - len(each), len(each)))


@pytest.mark.parametrize("case", MISSED)
def test_missed_refreshes_are_made_up_for(frames, case):
    rate, _, missed = case
    found = frames[case]
    assert sum(found) / (len(found) / (1 - missed)) * rate == pytest.approx(60, rel=0.03)
