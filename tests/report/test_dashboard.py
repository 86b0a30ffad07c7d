import io
from datetime import datetime

import pytest
from rich.console import Console

from selfplay.games.columns import NONE
from selfplay.report.dashboard import DashboardReporter, sparkline
from selfplay.report.listing import Listing, arranged
from selfplay.report.metrics import Play
from selfplay.report.outputs import reporters
from selfplay.report.plain import PlainReporter
from selfplay_melee.show.columns import COLUMNS
from tests.report.make import PACE, PLAY, finished, payoff_rating, rating, report


class Screen:
    """A terminal of 100 columns and a clock that stands still."""

    def __init__(self, width=100, height=25, columns=COLUMNS):
        self.stream = io.StringIO()
        self.time = 0.0
        self.console = Console(
            file=self.stream, force_terminal=True, width=width, height=height, color_system=None, legacy_windows=False
        )
        now = datetime(2026, 1, 2, 3, 5, 5)
        self.reporter = DashboardReporter(self.console, lambda: now, lambda: self.time, columns)

    def lines(self):
        """The view that is drawn now, by line."""
        self.stream.truncate(0)
        self.stream.seek(0)
        self.console.print(self.reporter._live.get_renderable())
        return self.stream.getvalue().splitlines()

    def final(self):
        """What stays on the screen when the view ends."""
        self.reporter.close()
        return self.stream.getvalue()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_shows_progress_speed_losses_and_opponents(width):
    screen = Screen(width)
    screen.reporter.header(["═══ Self-Play Training ═══"])
    screen.reporter.iteration(report(3, restarts=2, rating=rating()))
    text = screen.final()
    words = ["30%", "0:00:28", "3,072", "256 steps/s", "0.1234", "75%", "random", "restarts 2", "1555", "+1.50"]
    assert [word for word in words if word not in text] == []


MODES = {
    "latest": {"pace": {"mirror": PACE}, "win_rate": {}},
    "simple_mix": {"pace": dict.fromkeys(("mirror", "generation", "scripted"), PACE)},
    "opponents": {"pace": {}, "win_rate": {"guest": 0.25}},
    "payoffs": {"win_rate": {"guest": 0.25}, "payoff": {"guest": 0.5}},
}


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 30), (200, 50)])
@pytest.mark.parametrize("mode", MODES)
def test_the_view_fits_and_has_no_empty_table(width, height, mode):
    screen = Screen(width, height)
    for i in range(1, 9):
        made = rating(i, 1500.0 + 10 * i)
        screen.reporter.iteration(report(i, play=PLAY.model_copy(update=MODES[mode]), rating=made, restarts=1))
    lines = screen.lines()
    assert len(lines) < height
    assert {len(line) for line in lines} == {width}
    text = "\n".join(lines)
    words = [
        "Elo 1580 (1430 to 1730)  gen_8 beats walker, 0:00:00 ago  ▁▂▃▄▅▆▇█", "Play", "Learner", "loss", "restarts 1",
        "Beats        score         95%  games", "walker         97%  79 to 100%     16",
    ]  # fmt: skip
    assert [word for word in words if word not in text] == []
    assert ("Win rate" in text) == (mode in ("simple_mix", "opponents"))
    assert ("Opponents  wins  payoff" in text) == ("+0.50" in text) == (mode == "payoffs")
    assert ("Fights" in text) == (mode != "opponents")


def test_a_terminal_without_room_shows_what_matters_most():
    screen = Screen(80, 12)
    screen.reporter.iteration(report(3, rating=rating()))
    text = "\n".join(screen.lines())
    assert len(screen.lines()) < 12
    assert "Elo 1555" in text
    assert "walker" in text
    assert "gradient norm" not in text


def test_what_was_not_rated_has_no_elo():
    screen = Screen()
    screen.reporter.iteration(report(3))
    text = "\n".join(screen.lines())
    assert "Elo" not in text
    assert "Beats" not in text


def test_results_in_payoffs_have_their_unit():
    screen = Screen(120, 30)
    screen.reporter.iteration(report(3, rating=payoff_rating()))
    lines = [" ".join(line.split()) for line in screen.lines()]
    assert any("Beats chips a game 95% games" in line for line in lines)
    assert any("raiser +0.65 +0.10 to +1.20 16" in line for line in lines)
    assert any("rating +0.65 chips a game (+0.31 to +0.98) gen_3 beats raiser" in line for line in lines)


def test_a_rating_is_told_once_and_grows_old():
    screen = Screen()
    for i in (3, 4, 5):
        screen.reporter.iteration(report(i, rating=rating(3)))
    screen.time = 10.0
    assert "gen_3 beats walker, 0:00:18 ago  ▁ " in "\n".join(screen.lines())


def test_a_rating_without_an_upper_bound_shows_none():
    screen = Screen()
    screen.reporter.iteration(report(3, rating=rating(3).model_copy(update={"ends": (1400.0, None)})))
    assert "Elo 1555 (1400 or more)  gen_3" in "\n".join(screen.lines())


def test_the_last_rating_comes_after_the_last_report():
    screen = Screen()
    screen.reporter.iteration(report(3))
    screen.reporter.rated(report(3, rating=rating(3)))
    assert "Elo 1555" in "\n".join(screen.lines())


def test_a_new_size_clears_the_screen_and_keeps_the_last_notices():
    screen = Screen(120, 30)
    screen.reporter.header(["first"])
    screen.reporter.iteration(report(3))
    for i in range(20):
        screen.reporter.notice(f"Notice {i}")
    before = len(screen.stream.getvalue())
    screen.console.size = (80, 24)
    screen.reporter.notice("Notice 20")
    after = screen.stream.getvalue()[before:]
    screen.reporter.close()
    assert "\x1b[H\x1b[2J" in after
    shown = after.partition("\x1b[2J")[2].splitlines()
    kept = [line for line in shown if "Notice" in line]
    assert kept[-1].endswith("Notice 20")
    assert 1 < len(kept) < 20
    assert max(len(line) for line in shown) <= 80 + len("\x1b[2K")
    assert "\x1b[2J" not in screen.stream.getvalue()[before + len(after) :]


def test_listings_go_side_by_side_then_below_then_lose_rows():
    first, second, third = (
        Listing((name,), tuple((f"{name} {i}", "1.00") for i in range(5))) for name in ("a", "b", "c")
    )
    assert first.width == len("a 0  1.00")
    assert arranged([first, second, third], 33, 9) == [[first], [second], [third]]
    below = arranged([first, second, third], 32, 10)
    assert below == [[first, Listing(third.head, third.rows[:2])], [second]]
    assert arranged([first, second, third], 5, None) == [[first, second, third]]
    assert arranged([first, second], 5, 1) == []


def test_shows_how_fights_end_by_kind_of_opponent():
    screen = Screen(200)
    pace = {kind: finished(share) for kind, share in (("scripted", 0.9), ("mirror", 0.1))}
    screen.reporter.header([])
    screen.reporter.iteration(report(3, play=PLAY.model_copy(update={"pace": pace})))
    lines = screen.final().splitlines()
    fights = [line[line.index("finished") :].split() for line in lines if "finished " in line]
    assert fights[-1][:3] == ["finished", "10%", "90%"]
    assert any("mirror" in line and "scripted" in line for line in lines)


@pytest.mark.parametrize(("columns", "unit"), [(COLUMNS, "frames"), (NONE, "steps")])
def test_the_length_of_an_episode_has_its_unit(columns, unit):
    screen = Screen(columns=columns)
    screen.reporter.iteration(report(3))
    assert f"length, {unit}" in "\n".join(screen.lines())


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
