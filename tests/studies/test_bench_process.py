import pytest

from scripts.studies.bench import process as bench_process
from scripts.studies.bench.process import start_beyond_imports_s, tree_mb
from selfplay.errors import SelfPlayError


@pytest.mark.full
def test_a_trainer_is_weighed_as_it_runs(monkeypatch):
    pytest.importorskip("psutil", reason="reads the memory of processes")
    monkeypatch.setattr(bench_process, "SETTLED", 20)  # beyond the iterations that every log has
    assert 50 < tree_mb(2) < 5000


def test_imports_are_taken_off_the_time_to_a_first_iteration(monkeypatch):
    times = iter([9.0, 5.0, 3.0, 6.0, 3.5, 7.0, 3.0])  # the first compiles; then iteration and imports in turn
    monkeypatch.setattr(bench_process, "_first_iteration_s", lambda: next(times))
    monkeypatch.setattr(bench_process, "_imports_s", lambda: next(times))
    assert start_beyond_imports_s(3) == 2.5


def test_a_training_that_ends_by_itself_is_an_error():
    pytest.importorskip("psutil", reason="reads the memory of processes")
    with pytest.raises(SelfPlayError, match=r"ended by itself: train_self_play\.py: --num-games 0:"):
        tree_mb(0)
