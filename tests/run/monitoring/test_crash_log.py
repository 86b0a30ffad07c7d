"""The files about a run's tree are written beside the run, which they can neither hold up nor end."""

import asyncio
import threading
from datetime import UTC, datetime

import pytest

from selfplay.checkpoint import RunDir
from selfplay.report.tree_status import TreeStatus
from selfplay.run.monitoring import crash_log as chronicle
from selfplay.run.monitoring.crash_file import read_crashes
from selfplay.run.monitoring.crash_log import CrashLog
from selfplay.supervision import ChildExited, ChildSpec, Supervisor, SupervisorSpec
from selfplay.supervision.exits import ChildRef, ExitReason
from tests.supervision.children import forever
from tests.support.processes import LIMIT_S

BROKEN = ChildExited("root", ChildRef("a", 1), ExitReason("error", "OSError: broken"), 0, False, False, 1.0)
SPEC = SupervisorSpec(children=(ChildSpec("a", forever),))


def standing(run):
    return TreeStatus.model_validate_json(run.tree_json.read_text())


@pytest.fixture
def gate():
    event = threading.Event()
    yield event
    event.set()


async def until(happened):
    async with asyncio.timeout(LIMIT_S):
        while not happened():  # noqa: ASYNC110  (a thread makes it happen)
            await asyncio.sleep(0.005)


def test_the_state_is_there_from_the_start_follows_changes_and_ends_with_how_it_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(chronicle, "TICK_S", 0.01)
    run, told = RunDir(tmp_path), []

    async def main():
        root = Supervisor(SPEC)
        book = CrashLog(run, root, told.append)
        await until(run.tree_json.exists)
        assert [row.id for row in standing(run).rows] == ["root"]
        await root.start()
        root._tree._on_report = book.on_report
        book.on_report(BROKEN)
        await until(lambda: len(standing(run).rows) == 2)
        assert standing(run).ended is None
        assert standing(run).rows[1].state == "running"
        await root.stop()
        await book.close("interrupted")

    asyncio.run(main())
    assert standing(run).ended == "interrupted"
    assert {row.state for row in standing(run).rows} == {"stopped"}
    assert [crash.message for crash in read_crashes(run.crashes, 9)[0]] == ["OSError: broken"]
    assert told == []


def test_changes_of_one_moment_are_written_together(tmp_path, monkeypatch):
    monkeypatch.setattr(chronicle, "TICK_S", 10**6)
    written = []
    monkeypatch.setattr(chronicle, "write_file", lambda path, data: written.append(data))

    async def main():
        book = CrashLog(RunDir(tmp_path), Supervisor(SPEC), print)
        await until(lambda: len(written) == 1)
        for _ in range(50):
            book.on_report(BROKEN)
        await book.close("finished")

    asyncio.run(main())
    assert len(written) == 2
    assert TreeStatus.model_validate_json(written[-1]).crashes == 50


def test_where_nothing_changes_it_is_written_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr(chronicle, "TICK_S", 0.001)
    written = []
    monkeypatch.setattr(chronicle, "write_file", lambda path, data: written.append(data))

    async def main():
        book = CrashLog(RunDir(tmp_path), Supervisor(SPEC), print)
        await until(lambda: len(written) == 4)
        await book.close("finished")

    asyncio.run(main())


def test_a_disk_that_refuses_costs_the_reports_and_is_told_once(tmp_path):
    run, told = RunDir(tmp_path / "run"), []
    run.path.touch()  # a file where the folder should be

    async def main():
        book = CrashLog(run, Supervisor(SPEC), told.append)
        for _ in range(3):
            book.on_report(BROKEN)
        await until(lambda: book.unwritten == 3)
        run.path.unlink()
        run.path.mkdir(exist_ok=True)  # the state may have just been written
        book.on_report(BROKEN)
        await book.close("finished")

    asyncio.run(main())
    assert len(told) == 1
    assert "What happens in the tree cannot be written down: cannot write" in told[0]
    assert (standing(run).crashes, standing(run).unwritten) == (4, 3)
    assert len(read_crashes(run.crashes, 9)[0]) == 1


def test_a_disk_that_hangs_holds_nothing_up_and_fills_no_memory(tmp_path, monkeypatch, gate):
    monkeypatch.setattr(chronicle, "LAST_S", 0.05)
    monkeypatch.setattr(chronicle, "WAITING", 5)
    monkeypatch.setattr(chronicle, "append_crash", lambda path, crash: gate.wait())

    async def main():
        book = CrashLog(RunDir(tmp_path), Supervisor(SPEC), print, lambda: datetime(2026, 1, 1, tzinfo=UTC))
        for _ in range(9):
            book.on_report(BROKEN)
        assert book.unwritten == 4
        await book.close("finished")  # returns

    asyncio.run(main())
