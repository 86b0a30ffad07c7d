"""What is remembered of a disk that refuses, when it is tried again, and how a run ends that has not saved."""

import asyncio

import pytest

from selfplay.errors import CheckpointError, CorruptError, DiskError
from selfplay.league.ledger import read_games
from selfplay.run.disk import EXPLOITER, GENERATION, OLD, STATE, DiskWatch
from selfplay.run.ledger_keeper import LedgerKeeper, highest
from selfplay.run.saving import SavePoints
from tests.league.test_ledger import RECORDS
from tests.run.disks import Disk


@pytest.mark.parametrize("kind", [DiskError, CorruptError])
def test_a_refusal_is_told_and_remembered_until_it_is_over(kind):
    told = []
    watch = DiskWatch(told.append)
    with watch.tolerate(STATE):
        raise kind("cannot write it: no room")
    with watch.tolerate(STATE):  # tried again, and not said again
        raise kind("cannot write it: no room")
    assert told == [
        f"DISK: {STATE} could not be saved: cannot write it: no room; training goes on, and it is tried again"
    ]
    assert [finding.text for finding in watch.findings()] == [f"Not saved: {STATE}: cannot write it: no room"]
    with pytest.raises(
        DiskError, match=r"not saved: the state of training \(cannot write it: no room\).*of iteration 7: make"
    ):
        watch.refuse_to_end(7)
    with watch.tolerate(STATE, settles=False):
        pass
    assert watch.unsaved, "nothing was written that it could be judged by"
    with watch.tolerate(STATE):
        pass
    assert told[1:] == [f"Disk: {STATE} could be saved again"]
    assert watch.findings() == ()
    watch.refuse_to_end(7)


FULL = "cannot write it: OSError: [Errno 28] No space left on device"


def test_a_full_disk_is_told_once_whatever_is_not_saved_and_so_is_its_end():
    told = []
    watch = DiskWatch(told.append)

    def fail(what, why):
        with watch.tolerate(what):
            raise DiskError(why)

    for what in (GENERATION, STATE, GENERATION, OLD):
        fail(what, FULL)
    assert told == [f"DISK: {GENERATION} could not be saved: {FULL}; training goes on, and it is tried again"]
    fail(OLD, "cannot remove it: no permission")
    assert told[1:] == [
        f"DISK: {OLD} could not be saved: cannot remove it: no permission; training goes on, and it is tried again"
    ]
    assert len(watch.findings()) == 3
    for what in (STATE, OLD, GENERATION, GENERATION):
        with watch.tolerate(what):
            pass
    assert told[2:] == [f"Disk: {OLD} could be saved again", "Disk: there is space again"]
    fail(STATE, FULL)
    assert len(told) == 5


def test_an_exploiter_that_was_not_saved_hides_no_later_full_disk():
    told = []
    watch = DiskWatch(told.append)
    for what in (GENERATION, EXPLOITER):
        with watch.tolerate(what):
            raise DiskError(FULL)
    with watch.tolerate(GENERATION):
        pass
    with watch.tolerate(STATE):
        raise DiskError(FULL)
    assert [line.partition(" could")[0] for line in told] == [
        f"DISK: {GENERATION}", "Disk: there is space again", f"DISK: {STATE}",
    ]  # fmt: skip


def test_what_a_run_can_end_without_is_told_and_no_failure():
    told = []
    watch = DiskWatch(told.append)
    with watch.tolerate(OLD):
        raise DiskError("cannot remove it")
    assert len(told) == len(watch.findings()) == 1
    assert watch.missing == {}
    watch.refuse_to_end(7)


@pytest.mark.parametrize("kind", [CheckpointError, ValueError, OSError])
def test_what_is_no_fault_of_the_disk_is_not_tolerated(kind):
    watch = DiskWatch(lambda _: None)
    with pytest.raises(kind), watch.tolerate(STATE):
        raise kind("a bug")
    assert not watch.unsaved


def tries(points, refused, last):
    """After which iterations something is saved, where the disk refuses those of ``refused``."""
    found = []
    for iteration in range(1, last + 1):
        if points.is_due(iteration):
            found.append(iteration)
            points.tried(iteration, saved=iteration not in refused)
    return found


def test_a_save_that_failed_is_tried_again_sooner():
    assert tries(SavePoints(10), (), 40) == [10, 20, 30, 40]
    assert tries(SavePoints(10), {10}, 20) == [10, 11, 20]
    assert tries(SavePoints(20), range(20, 36), 60) == [20, 21, 23, 27, 35, 40, 60]
    assert tries(SavePoints(1), {1, 2}, 4) == [1, 2, 3, 4]


def test_games_wait_until_the_ledger_takes_them(tmp_path, monkeypatch):
    path = tmp_path / "ledger.jsonl"
    disk = Disk(monkeypatch, "fsync")

    class Ready:
        id = "ledger"

        def ready(self):
            pass

    async def play():
        keeper = LedgerKeeper(path)
        child = asyncio.create_task(keeper.run(Ready()))
        await keeper.record(RECORDS[:1])
        disk.fill()
        for record in RECORDS[1:3]:
            with pytest.raises(DiskError, match="No space left"):
                await keeper.record([record])
        rows = keeper.rows, len(await asyncio.to_thread(read_games, path))
        disk.empty()
        await keeper.record([])
        child.cancel()
        await asyncio.gather(child, return_exceptions=True)
        return rows

    assert asyncio.run(play()) == (1, 1), "what is rated is what the ledger has"
    assert len(read_games(path)) == 3


def test_the_highest_is_the_newest_of_equals():
    assert highest({}) is None
    assert highest({"gen_9": 1500.0, "gen_10": 1500.0, "gen_2": 1400.0}) == "gen_10"
    assert highest({"gen_9": 1501.0, "gen_10": 1500.0}) == "gen_9"
