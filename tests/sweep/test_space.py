import pytest

from selfplay.errors import ConfigError
from selfplay.sweep.space import space_of

SETTINGS = {
    "ppo.learning_rate": {"low": 1e-4, "high": 1e-2, "log": True},
    "ppo.epochs": {"low": 1, "high": 3},
    "net.hidden": [[8], [16, 16]],
    "ppo.gamma": 1.0,
}


def test_samples_lie_in_their_ranges_and_reach_all_of_them():
    found = space_of(SETTINGS, "x").sample(200, seed=0)
    rates = [values["ppo.learning_rate"] for values in found]
    assert 1e-4 <= min(rates) < 2e-4
    assert 5e-3 < max(rates) <= 1e-2
    assert 80 < sum(rate < 1e-3 for rate in rates) < 120  # alike likely in each power of ten
    assert {values["ppo.epochs"] for values in found} == {1, 2, 3}
    assert [values["net.hidden"] for values in found].count([8]) > 60
    assert "ppo.gamma" not in found[0]


def test_more_samples_begin_with_the_same():
    space = space_of(SETTINGS, "x")
    assert space.sample(9, seed=3)[:4] == space.sample(4, seed=3) != space.sample(4, seed=4)


def test_samples_differ_and_there_may_be_too_few():
    space = space_of({"ppo.epochs": [1, 2, 3]}, "x")
    assert sorted(values["ppo.epochs"] for values in space.sample(3, seed=0)) == [1, 2, 3]
    with pytest.raises(ConfigError, match="samples 4: only 3 different settings"):
        space.sample(4, seed=0)
