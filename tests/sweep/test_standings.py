"""Intervals over seeds, and what is said of the best."""

import numpy as np
import pytest

from selfplay.league.statistics import student95
from selfplay.sweep.judging import Measure
from selfplay.sweep.standings import Entry, difference, interval, standings, verdict

EXACT = Measure("exact", "NashConv", "chips", sign=-1.0, form=".2f")


def entry(number, *strengths, share=1.0):
    return Entry(number, {"ppo.gamma": number / 10}, share, strengths)


@pytest.mark.parametrize(("df", "value"), [(1, 12.7062), (2, 4.3027), (4.5, 2.6589), (30, 2.0423), (1e5, 1.96)])
def test_quantiles_of_student_are_those_of_tables(df, value):
    assert student95(df) == pytest.approx(value, abs=1e-4)


def test_intervals_of_small_samples_hold_the_truth_in_95_percent():
    rng = np.random.default_rng(0)
    trials = rng.normal(3.0, 2.0, (2000, 3))
    held = [found.low < 3.0 < found.high for found in map(interval, trials)]
    assert 0.935 < np.mean(held) < 0.965
    others = rng.normal(3.0, 0.5, (2000, 5))
    apart = [abs(found.mean) > found.high - found.mean for found in map(difference, trials, others)]
    assert 0.02 < np.mean(apart) < 0.065


def test_the_best_is_named_with_its_interval_and_the_second():
    found = standings([entry(0, -0.5, -0.52, -0.48), entry(1, -0.1, -0.12, -0.11), entry(2, -0.12, -0.09, -0.14)])
    assert [each.name for each in found] == ["s1", "s2", "s0"]
    assert [each.told_apart for each in found] == [False, False, True]
    said = verdict(found, EXACT)
    assert said.startswith("Best: s1 (ppo.gamma = 0.1), NashConv 0.11 chips (95% interval 0.09 to 0.13) over 3 seeds.")
    assert "The second, s2 (ppo.gamma = 0.2), is 0.01 chips (95% interval -0.05 to 0.06) behind: not dist" in said
    assert "best of 3, it looks somewhat better than it is" in said


def test_others_that_cannot_be_told_apart_are_named():
    found = standings([entry(i, 0.5 + i / 100, 0.6, 0.4) for i in range(3)])
    assert "Not distinguishable from the best either: s0." in verdict(found, Measure("opponents", "score"))


def test_a_difference_is_told_apart():
    found = standings([entry(0, 1.0, 1.1), entry(1, 3.0, 3.1)])
    assert "behind: distinguishable." in verdict(found, Measure("games", "rating", "Elo", form=".0f"))


def test_one_seed_tells_no_interval():
    said = verdict(standings([entry(0, -1.0), entry(1, -2.0)]), EXACT)
    assert "NashConv 1.00 chips over one seed." in said
    assert "with one seed a difference cannot be told from chance" in said


def test_a_setting_with_a_failed_cell_is_last_and_short_ones_are_not_compared():
    found = standings([entry(0, 9.0, None), entry(1, 1.0, 1.2), entry(2, 5.0, 5.1, share=0.5)])
    assert [(each.name, each.failed, each.behind) for each in found] == [
        ("s1", 0, None),
        ("s2", 0, None),
        ("s0", 1, None),
    ]
    assert verdict(standings([entry(0, 9.0, None)]), EXACT) == "No setting has a result for all seeds."
