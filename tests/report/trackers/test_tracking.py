from pathlib import Path

import pytest

from selfplay.league.games import GameTable
from selfplay.league.leaderboard import build
from selfplay.report.metrics import ELO
from selfplay.report.reporter import Feed
from selfplay.report.trackers import tracking
from selfplay.report.trackers.tracker import TrackedRun, Tracker
from selfplay.report.trackers.tracking import COLUMNS, FAILURES, RATINGS, Tracking
from tests.league.pools import series
from tests.report.make import Recorder, rating, report
from tests.report.trackers.own import Broken, Hanging, Hopeless, Kept
from tests.support.processes import wait_for

RUN = TrackedRun("0123456789ab", Path("checkpoints/kuhn"), {})
SECONDS = 30.0


def begun(*trackers):
    """Trackers that have begun, and the list of their notices."""
    made, notices = Tracking({type(tracker).__name__: tracker for tracker in trackers}), []
    made.begin(RUN, notices.append)
    return made, notices


def test_a_tracker_gets_all_records_in_order():
    kept = Kept()
    made, notices = begun(kept, Tracker())
    feed = Feed(Recorder(), tracking=made)
    first, board = report(1), build(GameTable.of(series([("gen_1", "random", "win"), ("gen_1", "random", "loss")])))
    feed.iteration(first)
    feed.rated(report(3, rating=rating(3)))
    made.ratings(board, 3072)
    made.policy(3072, "gen_3", Path("gen_3"))
    made.finish(SECONDS)
    assert notices == ["records of 0123456789ab are here"]
    started, metrics, rated, table, policy, closed = kept.calls
    assert (started, closed) == (("start", "kuhn"), ("close",))
    assert metrics == ("metrics", 1024, first.flat())
    assert rated == ("metrics", 3072, {ELO: 1555.0})
    assert table[:4] == ("table", 3072, RATINGS, COLUMNS)
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in table[4]]
    assert {row["player"]: (row["games"], row["wins"]) for row in rows} == {"gen_1": (2, 1), "random": (2, 1)}
    newest = next(row for row in rows if row["player"] == "gen_1")
    assert newest["low"] < newest["rating"] < newest["high"]
    assert policy == ("policy", 3072, "gen_3", Path("gen_3"))


def test_figures_that_are_not_finite_are_left_out():
    kept = Kept()
    made, _ = begun(kept)
    made.iteration(report(1, common_gain=float("nan")))
    made.finish(SECONDS)
    assert "reward/common_gain" not in kept.calls[1][2]


def test_a_tracker_that_raises_costs_records_and_is_left_out_at_last():
    broken, kept = Broken(), Kept()
    made, notices = begun(broken, kept)
    board = build(GameTable.of([]))
    for step in range(FAILURES + 5):
        made.ratings(board, step)
    made.iteration(report(1))
    made.finish(SECONDS)
    assert [call[0] for call in broken.calls] == ["start", *["table"] * FAILURES]
    assert [call[0] for call in kept.calls] == ["start", *["table"] * (FAILURES + 5), "metrics", "close"]
    told = [notice for notice in notices if "Broken" in notice]
    assert told == [
        "Tracker Broken failed in table: OSError: no room; training goes on",
        f"Tracker Broken failed {FAILURES} times in a row and gets nothing more",
        f"Tracker Broken: {FAILURES + 6} records were not delivered",
    ]


def test_a_success_forgives_failures():
    broken = Broken()
    made, notices = begun(broken)
    board = build(GameTable.of([]))
    for step in range(2 * FAILURES):
        made.ratings(board, step)
        made.iteration(report(1))
    made.finish(SECONDS)
    assert broken.calls[-1] == ("close",)
    assert notices[-1] == f"Tracker Broken: {2 * FAILURES} records were not delivered"


def test_a_tracker_that_cannot_start_gets_nothing():
    hopeless = Hopeless()
    made, notices = begun(hopeless)
    made.iteration(report(1))
    made.finish(SECONDS)
    assert hopeless.calls == []
    assert notices == [
        "Tracker Hopeless failed in start: SystemExit: 1; training goes on",
        "Tracker Hopeless: 1 records were not delivered",
    ]


def test_a_tracker_that_hangs_blocks_nothing(monkeypatch):
    monkeypatch.setattr(tracking, "WAITING", 3)
    hanging, kept = Hanging(), Kept()
    made, notices = begun(hanging, kept)
    made.iteration(report(1))
    assert hanging.busy.wait(SECONDS)
    for iteration in range(2, 8):
        made.iteration(report(iteration))
        wait_for(lambda: len(kept.calls) > iteration)  # it takes each before the next comes  # noqa: B023
    made.finish(seconds=0.2)
    assert [call[0] for call in kept.calls] == ["start", *["metrics"] * 7, "close"]
    assert [notice for notice in notices if "Hanging" in notice] == [
        "Tracker Hanging is 3 records behind; what it cannot take is dropped",
        "Tracker Hanging did not end in time",
        "Tracker Hanging: 6 records were not delivered",
    ]
    hanging.release.set()
    made.finish(SECONDS)


@pytest.mark.parametrize("trackers", [{}, None])
def test_without_trackers_nothing_is_made(trackers):
    made = Tracking(trackers)
    assert not made
    made.iteration(None)  # of which no figures are asked
    made.finish(SECONDS)
