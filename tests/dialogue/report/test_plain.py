import io
import json
from datetime import datetime

import pytest
from rich.console import Console
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

from selfplay.dialogue.report.plain import DialogueDashboard, DialogueLines
from selfplay.report.outputs import reporters
from selfplay.report.reporter import Tee
from tests.dialogue.report.talks import UPDATE, dialogue_report
from tests.report.make import rating


class Screen:
    """A terminal and a clock that stands still."""

    def __init__(self, width=100):
        self.stream = io.StringIO()
        self.time = 0.0
        console = Console(file=self.stream, force_terminal=True, width=width, color_system=None, legacy_windows=False)
        self.reporter = DialogueDashboard(console, lambda: datetime(2026, 1, 2, 3, 5, 5), lambda: self.time)

    def shown(self):
        """The view as it is now."""
        console = Console(file=io.StringIO(), width=100)
        console.print(self.reporter._render(None))
        return console.file.getvalue()

    def final(self):
        self.reporter.close()
        return self.stream.getvalue()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_view_shows_how_games_go_and_what_is_learned(width):
    screen = Screen(width)
    screen.reporter.header(["═══ Dialogue Self-Play ═══"])
    screen.reporter.iteration(dialogue_report(lost=2, rating=rating()))
    text = screen.final()
    words = [
        "30%", "0:00:28", "192 games", "16 games/s", "0.750", "87.5%", "0.250", "4.0", "100", "0.321", "0.0040",
        "25% of", "games lost 2", "1555", "turns", "12.5%",
    ]  # fmt: skip
    assert [word for word in words if word not in text] == []


def test_the_time_left_falls_with_the_clock():
    screen = Screen()
    screen.reporter.header([])
    screen.reporter.iteration(dialogue_report())
    screen.time = 8.0
    assert screen.final().rpartition("ETA ")[2].startswith("0:00:20")


def test_where_rewards_are_not_shared_their_mean_says_nothing():
    screen = Screen()
    screen.reporter.header([])
    report = dialogue_report(shared=False, reward=0.0, seat_rewards=(0.125, -0.125), agreement=0.0)
    screen.reporter.iteration(report)
    text = screen.final()
    assert "+0.125, -0.125" in text
    assert "agreed" not in text.replace("agreed   87.5%", "")
    assert "agreed" not in report.lines()[0]
    assert "agreed" in dialogue_report().lines()[0]


def test_an_iteration_in_progress_is_shown_until_it_ends(tmp_path):
    screen, line = Screen(), "Iter 4: 12 of 64 games, 60 replies, 200 tokens/s, ETA 0:00:45"
    screen.reporter.header([])
    screen.reporter.playing("Iter 1: 0 of 64 games, 9 replies, 20 tokens/s")
    assert "Iter 1: 0 of 64 games" in screen.shown()
    screen.reporter.iteration(dialogue_report())
    screen.reporter.playing(line)
    assert line in screen.shown()
    screen.reporter.iteration(dialogue_report(4))
    assert line not in screen.shown()
    screen.final()
    stream = io.StringIO()
    tee = dialogue_reporters(tmp_path, stream)
    tee.playing(line)
    tee.close()
    assert line in stream.getvalue()
    assert line in (tmp_path / "log.txt").read_text()


def test_time_left_follows_what_ends_the_run():
    assert dialogue_report(3).remaining_s == pytest.approx(28.0)
    assert dialogue_report(3, iterations=None, timesteps=1536).remaining_s == pytest.approx(12.0)
    assert dialogue_report(3, iterations=None, limit_s=24.0).done == pytest.approx(0.5)
    assert dialogue_report(3, iterations=None).remaining_s is None
    assert "ETA" not in dialogue_report(3, iterations=None).lines()[1]


def dialogue_reporters(folder, stream, live=None):
    return Tee(list(reporters(folder, stream, live=live, lines=DialogueLines, view=DialogueDashboard).values()))


def test_files_hold_every_figure_and_what_is_no_terminal_gets_lines(tmp_path):
    stream = io.StringIO()
    tee = dialogue_reporters(tmp_path, stream)
    tee.header(["═══ Dialogue Self-Play ═══"])
    tee.iteration(dialogue_report(rating=rating()))
    tee.close()
    (row,) = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    wanted = {
        "play/reward": 0.75, "play/agreement": 0.875, "play/refused": 0.25, "play/turns": 4.0, "play/tokens": 100.0,
        "losses/zero_variance": 0.25, "losses/entropy": 0.321, "losses/approx_kl": 0.004, "endings/turns": 0.125,
        "charts/elo": 1555.0,
    }  # fmt: skip
    assert {name: row[name] for name in wanted} == wanted
    (file,) = (tmp_path / "events").iterdir()
    tags = {value.tag: value for event in LegacyEventFileLoader(str(file)).Load() for value in event.summary.value}
    assert wanted.keys() <= tags.keys()
    assert "Iter 3/10: 64 games" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_gets_the_view(tmp_path):
    stream = io.StringIO()
    tee = dialogue_reporters(tmp_path, stream, live=True)
    tee.header([])
    tee.iteration(dialogue_report(update=UPDATE | {"skipped": 3}))
    tee.close()
    assert "Self-play" in stream.getvalue()
    assert "Iter 3/10" not in stream.getvalue()
