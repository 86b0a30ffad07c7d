"""What people and programs read about a run, on a disk that is full for a while."""

import errno
import json
import os

import pytest
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from selfplay.errors import DiskError
from selfplay.report import files, plain
from selfplay.report.files import MetricsReporter, TensorBoardReporter, trim_metrics
from selfplay.report.plain import LogFileSink
from selfplay.report.reporter import FAILURES, SPACE, Tee
from tests.report.make import Recorder, report


@pytest.fixture
def disk(monkeypatch):
    """Call it with whether it is full."""
    real, full = os.write, []

    def write(descriptor, data):
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    return lambda is_full: full.append(1) if is_full else full.clear()


def iterations(path):
    return [json.loads(line)["iteration"] for line in path.read_text().splitlines()]


def test_rows_wait_until_there_is_room(tmp_path, disk):
    path = tmp_path / "metrics.jsonl"
    reporter = MetricsReporter(path)
    reporter.iteration(report(1))
    disk(True)
    for number in (2, 3):
        with pytest.raises(DiskError, match=r"cannot write .*metrics\.jsonl.*No space left"):
            reporter.iteration(report(number))
    assert iterations(path) == [1]
    disk(False)
    reporter.iteration(report(4))
    reporter.close()
    assert iterations(path) == [1, 2, 3, 4]


def test_rows_that_wait_are_played_again_too(tmp_path, disk, monkeypatch):
    """The learner went back to iteration 1 while the disk was full, and its rows could not be cut then."""
    path = tmp_path / "metrics.jsonl"
    reporter = MetricsReporter(path)
    for number in (1, 2):
        reporter.iteration(report(number))
    disk(True)
    with pytest.raises(DiskError):
        reporter.iteration(report(3))

    def full(*_):
        raise DiskError("no room to trim")

    with monkeypatch.context() as patch:
        patch.setattr(files, "trim_metrics", full)
        with pytest.raises(DiskError, match="no room to trim"):
            reporter.iteration(report(2))
    assert iterations(path) == [1, 2]
    disk(False)
    reporter.iteration(report(3))
    reporter.close()
    assert iterations(path) == [1, 2, 3]


def test_no_more_rows_wait_than_there_is_memory_for(tmp_path, disk, monkeypatch):
    monkeypatch.setattr(files, "WAITING", 3)
    reporter = MetricsReporter(tmp_path / "metrics.jsonl")
    disk(True)
    for number in range(1, 6):
        with pytest.raises(DiskError):
            reporter.iteration(report(number))
    disk(False)
    reporter.iteration(report(6))
    reporter.close()
    assert iterations(tmp_path / "metrics.jsonl") == [4, 5, 6]


def test_a_file_that_cannot_be_trimmed_stays_as_it_is(tmp_path, monkeypatch):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"iteration": 1}\n{"iteration": 2}\n')

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskError, match=r"cannot write .*metrics\.jsonl"):
        trim_metrics(path, 1)
    assert iterations(path) == [1, 2]
    assert list(tmp_path.iterdir()) == [path]


def test_an_event_is_whole_or_not_there(tmp_path, disk):
    reporter = TensorBoardReporter(tmp_path / "events")
    reporter.iteration(report(1))
    disk(True)
    with pytest.raises(DiskError, match="No space left"):
        reporter.iteration(report(2))
    disk(False)
    reporter.iteration(report(3))
    reporter.close()
    (file,) = (tmp_path / "events").iterdir()
    assert [event.step // 1024 for event in EventFileLoader(str(file)).Load() if event.HasField("summary")] == [1, 3]


def test_a_line_is_whole_or_not_there(tmp_path, disk, monkeypatch, capsys):
    monkeypatch.setattr(plain, "LOG_BYTES", 14)
    log = LogFileSink(tmp_path / "log.txt")
    log.write("first")
    disk(True)
    with pytest.raises(DiskError, match=r"cannot write .*log\.txt"):
        log.write("second")
    disk(False)
    log.write("third")
    log.write("fourth")
    log.close()
    assert (tmp_path / "log.txt.1").read_text() == "first\nthird\n"
    assert (tmp_path / "log.txt").read_text() == "fourth\n"
    assert capsys.readouterr().err == ""


class Full(Recorder):
    """A reporter whose disk is full while ``full`` is set."""

    full = True
    why = "cannot write metrics.jsonl: no room"

    def iteration(self, told):
        super().iteration(told)
        if self.full:
            raise DiskError(self.why)


def test_all_are_told_of_a_full_disk_once_and_it_is_tried_for_ever():
    file, other, terminal = Full(), Full(), Recorder()
    tee = Tee([file, other, terminal])
    for number in range(3 * FAILURES):
        tee.iteration(report(number + 1))
    assert len([call for call in file.calls if call[0] == "iteration"]) == 3 * FAILURES
    assert [call for call in terminal.calls if call[0] == "iteration"] == [
        ("iteration", number + 1) for number in range(3 * FAILURES)
    ]
    told = ("notice", "DISK: cannot write metrics.jsonl: no room; training goes on, and it is tried again")
    assert [call for call in terminal.calls if call[0] == "notice"] == [told]
    file.full = other.full = False
    tee.iteration(report(40))
    file.full = True
    tee.iteration(report(41))
    assert [call for call in terminal.calls if call[0] == "notice"] == [told, told], "it was over in between"


@pytest.mark.parametrize("reporters_first", [True, False])
def test_a_full_disk_is_one_notice_of_those_who_report_and_those_who_save(reporters_first):
    file, terminal = Full(), Recorder()
    file.why, file.full = "No space left on device", False
    tee = Tee([file, terminal])
    saving = "DISK: the generation could not be saved: No space left on device"
    for by_reporters in (reporters_first, not reporters_first):
        file.full = True
        if by_reporters:
            tee.iteration(report(1))
        tee.notice(saving)
        tee.iteration(report(2))
        tee.notice("DISK: the state could not be saved: no permission")
        file.full = False
        tee.iteration(report(3))
        tee.notice(SPACE)
    told = [text for event, text in terminal.calls if event == "notice"]
    other = "DISK: the state could not be saved: no permission"
    reporting = "DISK: No space left on device; training goes on, and it is tried again"
    firsts = [reporting, saving] if reporters_first else [saving, reporting]
    assert told == [firsts[0], other, SPACE, firsts[1], other, SPACE]


def test_the_end_of_a_full_disk_is_told_when_all_have_written_again():
    file, terminal = Full(), Recorder()
    file.why = "No space left on device"
    tee = Tee([file, terminal])
    tee.iteration(report(1))
    tee.notice("DISK: the state could not be saved: No space left on device")
    file.full = False
    tee.iteration(report(2))
    assert ("notice", SPACE) not in terminal.calls, "a state waits"
    file.full = True
    tee.iteration(report(3))
    tee.notice(SPACE)
    assert ("notice", SPACE) not in terminal.calls, "a row waits"
    file.full = False
    tee.iteration(report(4))
    tee.iteration(report(5))
    assert terminal.calls.count(("notice", SPACE)) == 1


def test_those_behind_one_that_fails_are_told_too():
    first, last = Recorder(fail_on="b"), Recorder()
    with pytest.raises(OSError, match="b"):
        Tee([first, last]).notice("b")
    assert last.calls == [("notice", "b")]
