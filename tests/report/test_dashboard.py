import io
from datetime import datetime

import pytest
from rich.console import Console

from selfplay.report.dashboard import DashboardReporter, sparkline
from selfplay.report.metrics import Play
from selfplay.report.outputs import reporters
from selfplay.report.plain import PlainReporter
from tests.report.make import PACE, PLAY, report


class Screen:
    """A terminal of 100 columns and a clock that stands still."""

    def __init__(self, width=100):
        self.stream = io.StringIO()
        self.time = 0.0
        console = Console(file=self.stream, force_terminal=True, width=width, color_system=None, legacy_windows=False)
        self.reporter = DashboardReporter(console, lambda: datetime(2026, 1, 2, 3, 5, 5), lambda: self.time)

    def final(self):
        """What stays on the screen when the view ends."""
        self.reporter.close()
        return self.stream.getvalue()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_shows_progress_speed_losses_and_opponents(width):
    screen = Screen(width)
    screen.reporter.header(["═══ Self-Play Training ═══"])
    screen.reporter.iteration(report(3, restarts=2, elo=1555.0))
    text = screen.final()
    words = ["30%", "0:00:28", "3,072", "256 steps/s", "0.1234", "75%", "random", "restarts 2", "1555", "+1.50"]
    assert [word for word in words if word not in text] == []


def test_shows_how_fights_end_by_kind_of_opponent():
    screen = Screen(200)
    pace = {kind: PACE.model_copy(update={"finished": share}) for kind, share in (("scripted", 0.9), ("mirror", 0.1))}
    screen.reporter.header([])
    screen.reporter.iteration(report(3, play=PLAY.model_copy(update={"pace": pace})))
    lines = screen.final().splitlines()
    fights = [line[line.index("finished") :].split() for line in lines if "finished " in line]
    assert fights[-1][:3] == ["finished", "10%", "90%"]
    assert any("mirror" in line and "scripted" in line for line in lines)


def test_time_left_runs_down_between_reports():
    screen = Screen()
    screen.reporter.header([])
    screen.reporter.iteration(report(3))
    screen.time = 8.0
    assert "0:00:20" in screen.final()


def test_before_the_first_report_and_without_figures():
    screen = Screen()
    screen.reporter.header([])
    screen.time = 7.0
    assert "First iteration: 0:00:07" in screen.final()
    bare = Screen()
    bare.reporter.iteration(report(iterations=None, timesteps=None, play=Play(), opponents={}))
    bare.reporter.header([])
    assert "ETA" not in bare.final()


def test_notices_and_leaderboard_stay_and_nothing_is_drawn_afterwards():
    screen = Screen(width=30)
    screen.reporter.header([])
    screen.reporter.notice("Compiling")
    table = "| rank | policy | Elo | interval | W | L | D |"
    screen.reporter.leaderboard(table)
    before = screen.stream.getvalue()
    assert "[03:05:05] Compiling" in before
    assert table in before
    screen.reporter.close()
    assert screen.stream.getvalue() == before


def test_sparkline():
    assert sparkline([]) == ""
    assert sparkline([2.0, 2.0]) == "▁▁"
    assert sparkline([0.0, 1.0, 0.5]) == "▁█▅"


def test_the_live_view_is_for_terminals(tmp_path):
    made = reporters(tmp_path, io.StringIO())
    live = reporters(tmp_path, io.StringIO(), live=True, resumed=(2, 2048))
    assert isinstance(made["terminal"], PlainReporter)
    assert isinstance(live["terminal"], DashboardReporter)
    for reporter in (*made.values(), *live.values()):
        reporter.iteration(report(3))
        reporter.close()
    assert {path.name for path in tmp_path.iterdir()} == {"events", "log.txt", "metrics.jsonl"}
    assert "Iter 3" in (tmp_path / "log.txt").read_text()
