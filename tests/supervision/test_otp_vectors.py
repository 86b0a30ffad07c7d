"""Every recorded OTP scenario is replayed in full: replies, events, children, living incarnations, supervisor state."""

import json
from pathlib import Path

import pytest

from tests.supervision.otp import Scenario

HERE = Path(__file__).parent
FILES = ("vectors.jsonl", "vectors_more.jsonl")
SCENARIOS = [json.loads(line) for name in FILES for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def comparable(entry):
    """A trace entry; what the orphans of one killed supervisor do is sorted and put first.

    The signals that a killed supervisor's children and its own supervisor get are concurrent in Erlang: in which order
    the receivers act on them is the scheduler's choice.
    """
    orphans = [event for event in entry["events"] if event[0] != "exited" and event[-1] == "killed"]
    others = [event for event in entry["events"] if event not in orphans]
    return entry | {"events": sorted(orphans) + others}


@pytest.mark.parametrize("recorded", SCENARIOS, ids=[scenario["name"] for scenario in SCENARIOS])
def test_replays_as_recorded(recorded):
    seen = Scenario(recorded).play()
    for got, expected in zip(seen, recorded["trace"], strict=True):
        assert comparable(got) == comparable(expected)


def test_nothing_is_missing_from_the_recordings():
    assert len(SCENARIOS) == len({scenario["name"] for scenario in SCENARIOS}) >= 150
    steps = {entry["step"][0] for scenario in SCENARIOS for entry in scenario["trace"]}
    assert steps == {
        *("start", "crash", "kill", "kill_sup", "fail_next", "sleep", "count", "start_child", "terminate_child"),
        *("restart_child", "delete_child", "stop_sup"),
    }
