import io
import os
from datetime import datetime, timedelta

import pytest

from selfplay.errors import DiskError
from selfplay.games.columns import NONE
from selfplay.report import header, plain
from selfplay.report.metrics import Play, Recent, TimeShares
from selfplay.report.plain import LogFileSink, PlainReporter, StreamSink
from selfplay_melee.show.columns import COLUMNS
from tests.dialogue.report.talks import dialogue_report
from tests.report.make import PACE, PLAY, payoff_rating, rating, report


class Clock:
    def __init__(self):
        self.now = datetime(2026, 1, 2, 3, 5, 5)

    def __call__(self):
        return self.now


PROGRESS = (
    "Progress: iteration 1, 1,024 steps, 256 steps/s, Elo 1555 (1405 to 1705), beats walker (97% of 16 games), "
    "mirror games: 0.75 stocks a minute, 25% finished, 10% done, ETA 0:00:36"
)
LONG = {"iterations": 5000, "timesteps": 5_120_000}


def test_two_lines_an_iteration_stamped_when_things_happened():
    stream, clock = io.StringIO(), Clock()
    reporter = PlainReporter(StreamSink(stream), clock, columns=COLUMNS)
    reporter.iteration(report(1, rating=rating(1)))
    lines = stream.getvalue().splitlines()
    assert lines[0] == f"[03:05:02] {plain.BOTH_SEATS}"
    assert lines[1] == "[03:05:02] Iter 1: Collected 2048 experiences (1024 total steps)"
    assert lines[2] == "[03:05:04]   PPO update: loss=0.1234, policy=0.0456, value=0.0789, entropy=0.0123"
    assert lines[3:] == [f"[03:05:05] {PROGRESS}"]


def written(first, last, seconds, *, verbose=False, **changes):
    """Lines of these iterations, ``seconds`` apart."""
    stream, clock = io.StringIO(), Clock()
    reporter = PlainReporter(StreamSink(stream), clock, verbose=verbose, columns=COLUMNS)
    for iteration in range(first, last + 1):
        reporter.iteration(report(iteration, **changes))
        clock.now += timedelta(seconds=seconds)
    return stream.getvalue().splitlines()


def numbers(lines, word):
    return [int(line.partition(word)[2].replace(",", ":").partition(":")[0]) for line in lines if word in line]


@pytest.mark.parametrize("first", [1, 501])
def test_after_the_first_iterations_the_guides_lines_come_with_those_of_progress(first):
    lines = written(first, first + 29, plain.EVERY_S / 5, **LONG)
    assert numbers(lines, "Progress: iteration ") == [first + i for i in (0, 5, 10, 15, 20, 25)]
    assert numbers(lines, "Iter ") == [*range(first, first + 10), *(first + i for i in (10, 15, 20, 25))]
    assert sum("PPO update" in line for line in lines) == 14
    assert sum(plain.BOTH_SEATS in line for line in lines) == 1


@pytest.mark.parametrize("changes", [{"iterations": 100}, {"verbose": True, **LONG}])
def test_short_runs_and_verbose_ones_have_the_guides_lines_of_all_iterations(changes):
    lines = written(1, 30, plain.EVERY_S / 5, **changes)
    assert numbers(lines, "Iter ") == [*range(1, 31)]
    assert len(numbers(lines, "Progress: iteration ")) == 6


def test_a_rating_in_payoffs_has_its_unit():
    line = plain.progress_line(report(3, rating=payoff_rating()), Recent(), COLUMNS)
    assert "rating +0.65 chips a game (+0.31 to +0.98), beats raiser (+0.65 chips a game in 16 games)," in line
    assert "Elo" not in line


def test_a_last_rating_has_a_line_of_its_own():
    stream = io.StringIO()
    PlainReporter(StreamSink(stream), Clock()).rated(report(1, rating=rating(1)))
    assert "Elo 1555 (1405 to 1705), beats walker (97% of 16 games)" in stream.getvalue()


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((1400.0, None), "1400 or more"), ((None, 1700.0), "1700 or less"), ((None, None), "unknown"),
        ((1555.0, 1555.0), "fixed"),
    ],
)  # fmt: skip
def test_an_open_end_of_an_interval_is_open_everywhere(ends, words):
    last = rating(1).model_copy(update={"ends": ends})
    assert f"Elo 1555 ({words})" in plain.progress_line(report(1, rating=last), Recent(), COLUMNS)
    assert f"Elo 1555 ({words})" in dialogue_report(rating=last).lines()[1]


def test_details_are_for_verbose_runs():
    details = (
        "Details: time: collect 25%, update 50%, rate 25%, save 0%; return +1.50; wins: random 75%; mirror games: "
        "25% finished, 0.75 stocks/min, 40% damage/min, 21 s without hit"
    )
    assert written(1, 1, 0, verbose=True)[-1] == f"[03:05:05]   {details}"
    assert not any("Details" in line for line in written(1, 1, 0))


def test_games_that_are_no_fights_have_their_return():
    (line,) = [line for line in written(1, 1, 0, play=PLAY.model_copy(update={"pace": {}})) if "Progress" in line]
    assert "finished" not in line
    assert "return +1.50" in line
    assert "return" not in written(1, 1, 0, play=Play())[-1]


def test_without_mirror_games_the_fights_against_others_count():
    lines = written(1, 1, 0, play=PLAY.model_copy(update={"pace": {"scripted": PACE}}), experiences=1024)
    assert "scripted games: 0.75 stocks a minute" in lines[-1]
    assert not any(plain.BOTH_SEATS in line for line in lines)


def test_progress_tells_time_left_restarts_and_memory():
    this, recent = report(restarts=2, abandoned=1, cuda_used=2**30, cuda_peak=2**31), Recent()
    recent.add(this)
    line = plain.progress_line(this, recent, COLUMNS)
    assert "ETA 0:00:36" in line
    assert "Elo" not in line
    assert "runner restarts 2, abandoned 1" in line
    assert "segments" not in line
    assert "segments late 3, too late 0" in plain.progress_line(report(late=3, dropped=0), recent, COLUMNS)
    assert "CUDA 1,024 MiB, peak 2,048 MiB" in line


def test_payoffs_stand_beside_the_wins():
    recent = Recent()
    recent.add(report(play=Play(win_rate={"raiser": 0.25}, payoff={"raiser": 0.5})))
    line = plain.details_line(recent, TimeShares(), NONE)
    assert "wins: raiser 25%; payoffs: raiser +0.50" in line
    recent.add(report(play=Play(win_rate={"gen_0": 1.0})))
    assert "payoffs: raiser +0.50" in plain.details_line(recent, TimeShares(), NONE)


def test_header_is_the_guides():
    stream = io.StringIO()
    PlainReporter(StreamSink(stream), Clock()).header(
        header.lines(
            "Self-Play Training",
            [("Mode", "simple_mix"), ("Num games", 8), ("Learning rate", 3e-4), ("Resume", None), ("Track Elo", True)],
        )
    )
    assert stream.getvalue().splitlines() == [
        "═══ Self-Play Training ═══",
        "Configuration:",
        "    Mode: simple_mix",
        "    Num games: 8",
        "    Learning rate: 0.0003",
        "    Track Elo: yes",
        "",
    ]


def test_a_terminal_without_the_characters_gets_ascii():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    sink = StreamSink(stream)
    sink.write("═══ Elo ═══")
    sink.close()
    assert raw.getvalue() == b"=== Elo ===\n"


def test_notices_and_leaderboard():
    stream = io.StringIO()
    reporter = PlainReporter(StreamSink(stream), Clock())
    reporter.notice("Compiling")
    reporter.leaderboard("| 1 | gen_5 |\n| 2 | random |\n")
    reporter.close()
    assert stream.getvalue() == "[03:05:05] Compiling\n\n| 1 | gen_5 |\n| 2 | random |\n"


def test_log_file_is_rotated_and_nothing_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(plain, "LOG_BYTES", 200)
    path = tmp_path / "log.txt"
    sink = LogFileSink(path)
    for number in range(20):
        sink.write(f"line {number:02} ═══")
    sink.close()
    files = sorted(tmp_path.iterdir(), key=lambda file: file.name, reverse=True)
    assert len(files) > 1
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    assert text.splitlines() == [f"line {number:02} ═══" for number in range(20)]


def test_names_that_are_no_utf_8_are_told_all_the_same(tmp_path, capsys):
    name = os.fsdecode(b"game_\xff.slp")
    log = LogFileSink(tmp_path / "log.txt")
    raw = io.BytesIO()
    for sink in (log, StreamSink(io.TextIOWrapper(raw, encoding="utf-8"))):
        sink.write(f"Left out {name}")
        sink.close()
    assert (tmp_path / "log.txt").read_text(encoding="utf-8") == "Left out game_\\udcff.slp\n"
    assert raw.getvalue() == b"Left out game_\\udcff.slp\n"
    assert capsys.readouterr().err == ""


def test_log_file_is_continued(tmp_path):
    for word in ("first", "second"):
        sink = LogFileSink(tmp_path / "log.txt")
        sink.write(word)
        sink.close()
    assert (tmp_path / "log.txt").read_text() == "first\nsecond\n"


def test_a_disk_that_refuses_a_new_log_file_costs_no_old_one(tmp_path, monkeypatch):
    monkeypatch.setattr(plain, "LOG_BYTES", 20)
    sink = LogFileSink(tmp_path / "log.txt")
    for i in range(3):
        sink.write(f"line {i}, some more")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    opened = plain.Appender.open

    def refuse(path):
        raise DiskError("no room")

    monkeypatch.setattr(plain.Appender, "open", refuse)
    for _ in range(5):
        with pytest.raises(DiskError, match="no room"):
            sink.write("one more line that is long")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before
    monkeypatch.setattr(plain.Appender, "open", opened)
    sink.write("room again")
    sink.close()
    assert (tmp_path / "log.txt").read_text() == "room again\n"
    assert (tmp_path / "log.txt.1").read_text() == before["log.txt"]
