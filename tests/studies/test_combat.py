"""The study of how policies fight."""

import json

import pytest

from scripts.studies.combat.measure import mirror, quarters
from scripts.studies.combat.preset import BARS, BEFORE, missed, preset_text
from selfplay.checkpoint import RunDir
from selfplay.policy.policy import load_policy
from selfplay.runner.match import Contender
from selfplay_melee import bots
from tests.support.fight_rules import fight_rules

MIRROR = {
    "finished": 1.0, "stocks_a_minute": 1.2, "damage_a_minute": 130.0, "kill_percent": 110.0, "hits_an_opening": 2.3,
    "self_destructs_a_game": 0.05,
}  # fmt: skip


def cell(score=1.0, last=1.0, **figures):
    names = [*bots.LADDER, "seed_0"]
    return {
        "name": "mewtwo",
        "seed": 0,
        "mirror": MIRROR | figures,
        "scores": {name: {"score": score} for name in names},
        "quarters": [{"stocks_per_minute": 1.0}] * 3 + [{"stocks_per_minute": last}],
    }


@pytest.mark.full
def test_a_scripted_player_that_fights_is_measured():
    found = mirror(Contender("rusher"), fight_rules(), 2, 0)
    assert found["finished"] == 1.0
    assert 0.2 < found["stocks_a_minute"] < 5.0
    assert 20.0 < found["kill_percent"] < 300.0
    assert found["hits_an_opening"] >= 1.0
    waiting = mirror(Contender("walker"), fight_rules(), 2, 0)
    assert waiting["damage_a_minute"] < found["damage_a_minute"]


def test_the_pace_of_quarters_weighs_by_time(tmp_path):
    run = RunDir(tmp_path)
    rows = [
        {"total_steps": step, "minutes/mirror": minutes, "games/mirror": 1, "finished/mirror": 0.5,
         "stocks_per_minute/mirror": stocks, "damage_per_minute/mirror": 10.0, "seconds_without_hit/mirror": 5.0}
        for step, minutes, stocks in [(10, 1.0, 1.0), (20, 3.0, 2.0), (60, 1.0, 3.0), (100, 1.0, 4.0)]
    ]  # fmt: skip
    run.metrics.write_text("".join(json.dumps(row) + "\n" for row in [{"total_steps": 5}, *rows]))
    assert [quarter.rates["stocks_per_minute"] for quarter in quarters(run)] == [1.75, 3.0, 4.0]
    assert quarters(run)[0].rates["finished"] == 0.5


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"finished": 0.5}, "finished"),
        ({"kill_percent": 160.0}, "kill_percent"),
        ({"score": 0.5}, "worst score but all_rounder"),
        ({"last": 0.5}, "last quarter's stocks a minute"),
    ],
)
def test_a_run_that_does_not_fight_misses_a_bar(change, what):
    assert missed(cell()) == []
    assert any(line.startswith(what) for line in missed(cell(**change)))
    assert what in preset_text([cell(**change)])
    assert "every bar reached" in preset_text([cell()])
    assert set(BARS) >= set(MIRROR) - {"damage_a_minute"}


def test_policies_of_the_preset_before_are_here():
    assert {load_policy(path).body.character for path in BEFORE.iterdir()} == {"mewtwo"}
