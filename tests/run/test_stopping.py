"""The iteration in which a run is to end has a limit."""

import math

import pytest

from selfplay.errors import HangingError
from selfplay.run.progress import Progress
from selfplay.run.stopping import COLLECT, LEAST_S, RATE, SAVE, UPDATE, Overtime, Stop
from tests.support.fakes import FakeClock


class Run:
    """A run whose time passes when the test says so."""

    def __init__(self, phase=COLLECT, limit_s=math.inf):
        self.clock, self.stop, self.told, self.ended, self.cut = FakeClock(), Stop(), [], [], []
        self.stop.cut_listeners.append(lambda: self.cut.append(self.stop.is_set()))
        self.progress = Progress(None)
        self.progress.phase = phase
        self.overtime = Overtime(self.stop, self.progress, self.clock, self.told.append, lambda: self.ended.append(1))
        self.overtime.begin(limit_s)


@pytest.fixture
def late():
    """A run whose time is over in a minute."""
    return Run(limit_s=60.0)


def test_when_its_time_is_over_the_iteration_has_a_while(late):
    late.clock.advance(59)
    assert not late.overtime.is_over
    late.clock.advance(LEAST_S)
    assert late.overtime.is_over
    assert not late.cut
    assert not late.stop.is_set()
    late.clock.advance(2)
    assert late.cut == [True]
    assert late.told == ["--max-minutes is over and the collection of games has not ended; no longer waiting for it"]
    assert late.progress.ended_by == "--max-minutes during the collection of games"


def test_the_while_is_as_long_as_the_longest_iteration(late):
    late.progress.longest_s = 100.0
    late.clock.advance(159)
    assert not late.cut
    late.clock.advance(2)
    assert late.cut


def test_an_iteration_that_ends_in_time_is_not_cut(late):
    late.clock.advance(61)
    late.overtime.close()
    late.clock.advance(1000)
    assert (late.cut, late.told, late.overtime.error) == ([], [], None)
    late.progress.phase = RATE  # the last rating games, which a request to stop limits
    late.stop.set()
    late.clock.advance(LEAST_S + 1)
    assert late.told == ["The run is to end and the rating has not ended; no longer waiting for it"]


def test_a_request_to_stop_limits_the_iteration_too():
    run = Run(UPDATE)
    run.stop.set()
    run.clock.advance(LEAST_S - 1)
    run.stop.set()  # asking again changes nothing
    run.clock.advance(2)
    assert run.cut == [True]
    assert run.stop.is_cut
    assert run.told == ["The run is to end and the update has not ended; no longer waiting for it"]
    assert not run.progress.ended_by


def test_what_does_not_end_when_it_is_cut_ends_the_run_at_its_last_checkpoint():
    run = Run(UPDATE)
    run.progress.saved = 7
    run.stop.set()
    run.clock.advance(2 * LEAST_S + 1)
    assert run.ended == [1]
    assert isinstance(run.overtime.error, HangingError)
    assert str(run.overtime.error) == (
        "the update does not end; the run was stopped without it, and --resume goes on from the last checkpoint, of "
        "iteration 7"
    )


def test_a_save_is_waited_for():
    run = Run(SAVE)
    run.stop.set()
    run.clock.advance(100 * LEAST_S)
    assert not run.ended
    run.progress.phase = COLLECT
    run.clock.advance(LEAST_S + 1)
    assert run.ended == [1]
