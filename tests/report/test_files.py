import json
import os

import pytest
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from selfplay.errors import DiskError
from selfplay.report.files import EventFile, MetricsReporter, TensorBoardReporter, trim_metrics
from tests.report.make import UPDATE, rating, report


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_metrics_has_a_line_an_iteration(tmp_path):
    path = tmp_path / "metrics.jsonl"
    reporter = MetricsReporter(path, clock=lambda: 12.5)
    reporter.header(["x"])
    reporter.notice("x")
    reporter.iteration(report(1))
    reporter.iteration(report(2))
    reporter.leaderboard("x")
    reporter.close()
    reporter.close()
    assert [row["iteration"] for row in rows(path)] == [1, 2]
    assert rows(path)[1]["total_steps"] == 2048
    assert rows(path)[1]["wall"] == 12.5
    assert rows(path)[1]["losses/value"] == 0.0789


def test_not_a_number_is_null(tmp_path):
    path = tmp_path / "metrics.jsonl"
    reporter = MetricsReporter(path)
    reporter.iteration(report(update=UPDATE.model_copy(update={"loss": float("nan")})))
    reporter.close()
    assert rows(path)[0]["losses/total"] is None


def test_trim_forgets_what_will_be_played_again(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"iteration": 1}\n{"iteration": 2}\n{"iteration": 3}\n{"iterat')
    trim_metrics(path, 2)
    assert rows(path) == [{"iteration": 1}, {"iteration": 2}]
    assert list(tmp_path.iterdir()) == [path]
    trim_metrics(tmp_path / "absent.jsonl", 2)
    assert list(tmp_path.iterdir()) == [path]


def test_an_iteration_that_is_played_again_has_one_row(tmp_path):
    path = tmp_path / "metrics.jsonl"
    reporter = MetricsReporter(path)
    for iteration in (1, 2, 3, 2, 3, 4):
        reporter.iteration(report(iteration))
    reporter.close()
    assert [row["iteration"] for row in rows(path)] == [1, 2, 3, 4]


@pytest.mark.parametrize("resumed_at", [None, 1024])
def test_tensorboard_reads_the_events(tmp_path, resumed_at):
    reporter = TensorBoardReporter(tmp_path / "events", resumed_at)
    reporter.iteration(report(2))
    reporter.close()
    reporter.close()
    (file,) = (tmp_path / "events").iterdir()
    events = list(EventFileLoader(str(file)).Load())
    assert [event.step for event in events if event.HasField("session_log")] == ([] if resumed_at is None else [1025])
    values = {value.tag: value.tensor.float_val[0] for value in events[-1].summary.value}
    assert events[-1].step == 2048
    assert values["losses/policy"] == pytest.approx(0.0456)
    assert values["winrate/random"] == pytest.approx(0.75)
    assert set(values) == set(report(2).flat())


def test_a_rating_after_the_last_report_is_a_point_of_tensorboard_alone(tmp_path):
    metrics, events = MetricsReporter(tmp_path / "metrics.jsonl"), TensorBoardReporter(tmp_path / "events")
    for reporter in (metrics, events):
        reporter.iteration(report(2))
        reporter.rated(report(2, rating=rating(2, 1612.0)))
        reporter.close()
    assert len(rows(tmp_path / "metrics.jsonl")) == 1
    (file,) = (tmp_path / "events").iterdir()
    last = list(EventFileLoader(str(file)).Load())[-1]
    assert (last.step, [value.tag for value in last.summary.value]) == (2048, ["charts/elo"])


def test_metrics_may_grow_without_a_limit(tmp_path, monkeypatch):
    """A long run has more of them than anybody would read of a stranger."""
    monkeypatch.setattr("selfplay.files.read_file", None)  # which has limits
    path = tmp_path / "metrics.jsonl"
    rows = [f'{{"iteration": {i}, "x": 1}}\n' for i in range(1, 2001)]
    path.write_text("".join(rows) + "x" * (3 * 2**20) + "\n" + '{"iteration": 7')
    trim_metrics(path, 1500)
    assert path.read_text() == "".join(rows[:1500])


def test_what_the_disk_refuses_of_ratings_leaves_no_file_open(tmp_path, monkeypatch):
    monkeypatch.setattr(EventFile, "add", lambda *_: (_ for _ in ()).throw(DiskError("no room")))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(5):
        with pytest.raises(DiskError, match="no room"):
            EventFile(tmp_path / "events")
    assert list((tmp_path / "events").iterdir()) == []
    if before:
        assert len(os.listdir("/proc/self/fd")) == before
