"""Every recorded OTP scenario is replayed in full: replies, events, children, living incarnations, supervisor state."""

import json
from pathlib import Path

import pytest

from tests.supervision.otp import Scenario

HERE = Path(__file__).parent
SCENARIOS = [json.loads(line) for line in (HERE / "vectors.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("recorded", SCENARIOS, ids=[scenario["name"] for scenario in SCENARIOS])
def test_replays_as_recorded(recorded):
    seen = Scenario(recorded).play()
    for got, expected in zip(seen, recorded["trace"], strict=True):
        assert got == expected
