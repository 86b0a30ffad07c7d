"""Measurements are due at set times, and cost a training nothing."""

import pytest

from scripts.studies.equilibrium import meter as module
from scripts.studies.equilibrium.meter import Meter


class Clock:
    """Processor time that passes only where a test says so."""

    def __init__(self, monkeypatch):
        self.now = 7.0  # before the training
        monkeypatch.setattr(module.time, "process_time", lambda: self.now)

    def nash_conv(self, table):
        self.now += 100.0
        return table


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_measurements_are_due_at_the_set_shares_of_the_time(clock):
    meter, times = Meter(clock, 16.0, 7.0), []
    for tick in range(40):
        clock.now += 0.5
        if meter.due:
            times.append((tick + 1) / 2)
            meter.add(tick, lambda: 0.5)
        if meter.finished:
            break
    assert times == [1.0, 2.0, 4.0, 8.0, 16.0] == [point["seconds"] for point in meter.points]
    assert meter.points[0] == {"seconds": 1.0, "steps": 1, "last": 0.5, "average": None}
    assert not meter.due


def test_a_step_that_takes_long_is_measured_once(clock):
    meter = Meter(clock, 16.0, 7.0)
    clock.now += 9.0
    meter.add(1, average=lambda: 0.5)
    assert not meter.due
    assert not meter.finished
    clock.now += 7.0
    assert meter.due


def test_the_time_of_another_process_may_be_given(clock):
    meter = Meter(clock, 16.0, 7.0)
    meter.add(1, lambda: 0.5, at_s=3.0)
    assert [point["seconds"] for point in meter.points] == [3.0]
