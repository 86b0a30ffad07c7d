"""Settings that Optuna proposes."""

import pytest

from selfplay.errors import ConfigError
from selfplay.sweep import optuna_search
from selfplay.sweep.methods import JudgedRound, next_round
from selfplay.sweep.optuna_search import propose
from selfplay.sweep.space import space_of
from tests.sweep.test_settings import planned

pytest.importorskip("optuna", reason="needs Optuna, which is not installed")
pytestmark = pytest.mark.extras
RATES, EPOCHS = {"low": 1e-5, "high": 1e-1, "log": True}, {"low": 1, "high": 8}
SPACE = space_of({"ppo.learning_rate": RATES, "ppo.epochs": EPOCHS, "net.hidden": [[8], [16]]}, "x")


def strength(values):
    return -abs(values["ppo.epochs"] - 6) - (values["net.hidden"] == [8])


def searched(samples, batch=4):
    told = []
    while len(told) < samples:
        told += [(values, strength(values)) for values in propose(SPACE, 0, told, batch)]
    return told


def test_it_finds_what_is_strong_more_often_than_chance():
    told = searched(48)
    late = [found for _, found in told[24:]]
    early = [found for _, found in told[:8]]
    assert sum(late) / len(late) > sum(early) / len(early) + 0.5
    assert all(1e-5 <= values["ppo.learning_rate"] <= 1e-1 for values, _ in told)


def test_the_same_strengths_give_the_same_settings():
    told = searched(16)
    assert searched(16) == told
    assert propose(SPACE, 1, told, 4) != propose(SPACE, 0, told, 4)
    failed = [(values, None) for values, _ in told]
    assert len(propose(SPACE, 0, failed, 4)) == 4


def test_it_ends_where_no_setting_is_left():
    few = space_of({"ppo.epochs": [1, 2, 3]}, "x")
    found = propose(few, 0, [], 8)
    assert sorted(values["ppo.epochs"] for values in found) == [1, 2, 3]
    assert propose(few, 0, [(values, 1.0) for values in found], 1) == []


def test_a_search_goes_on_with_what_was_begun(tmp_path):
    method = '{ name = "optuna", samples = 6, batch = 4 }'
    plan = planned(tmp_path, method=method, settings__ppo="{ gamma = {low = 0.5, high = 1.0} }")
    first = next_round(plan, [], [])
    begun = [{"ppo.gamma": 0.75, "net.hidden": [8]}]
    assert len(first.settings) == 4
    assert next_round(plan, [], [*first.settings, *begun]).settings == first.settings
    judged = [JudgedRound(first, (1.0,) * 4)]
    assert next_round(plan, judged, [*first.settings, *begun]).settings == tuple(begun)
    second = next_round(plan, judged, [])
    assert len(second.settings) == 2
    assert next_round(plan, [*judged, JudgedRound(second, (1.0, 1.0))], []) is None


def test_without_optuna_its_command_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(optuna_search, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"method optuna needs Optuna: pip install .*\[optuna\]"):
        planned(tmp_path, method='{ name = "optuna", samples = 6 }')
