import io
import os
from datetime import datetime, timedelta

import pytest

from selfplay.errors import DiskError
from selfplay.report import header, plain
from selfplay.report.metrics import Play
from selfplay.report.plain import LogFileSink, PlainReporter, StreamSink
from selfplay.report.recent import Recent
from tests.report.make import report


class Clock:
    def __init__(self):
        self.now = datetime(2026, 1, 2, 3, 5, 5)

    def __call__(self):
        return self.now


def test_two_lines_an_iteration_stamped_when_things_happened():
    stream, clock = io.StringIO(), Clock()
    reporter = PlainReporter(StreamSink(stream), clock)
    reporter.iteration(report(1))
    lines = stream.getvalue().splitlines()
    assert lines[0] == "[03:05:02] Iter 1: Collected 2048 experiences (1024 total steps)"
    assert lines[1] == "[03:05:04]   PPO update: loss=0.1234, policy=0.0456, value=0.0789, entropy=0.0123"
    assert lines[2].startswith("[03:05:05]   Speed: 256 steps/s (collect 25%, update 50%, rate 25%, save 0%), 10% done")
    finished = "mirror 25% (0.75 stocks and 40% damage a minute, 21 s without a hit)"
    assert lines[3:] == [f"[03:05:05]   Finished games: {finished}"]


def test_summaries_are_rare():
    stream, clock = io.StringIO(), Clock()
    reporter = PlainReporter(StreamSink(stream), clock)
    for iteration in range(1, 11):
        reporter.iteration(report(iteration))
        clock.now += timedelta(seconds=plain.SUMMARY_EVERY_S / 5)
    lines = stream.getvalue().splitlines()
    assert sum("Iter " in line for line in lines) == 10
    assert sum("Speed:" in line for line in lines) == sum("Finished games:" in line for line in lines) == 2


def test_other_games_have_no_line_of_how_fights_end():
    stream = io.StringIO()
    PlainReporter(StreamSink(stream), Clock()).iteration(report(1, play=Play()))
    assert "Finished" not in stream.getvalue()


def test_summary_tells_time_left_wins_restarts_and_memory():
    this, recent = report(restarts=2, abandoned=1, cuda_used=2**30, cuda_peak=2**31), Recent()
    recent.add(this)
    line = plain.summary_line(this, recent)
    assert "ETA 0:00:36" in line
    assert "return +1.50" in line
    assert "wins random 75%" in line
    assert "runner restarts 2, abandoned 1" in line
    assert "segments" not in line
    assert "segments late 3, too late 0" in plain.summary_line(report(late=3, dropped=0), recent)
    assert "CUDA 1,024 MiB, peak 2,048 MiB" in line


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
