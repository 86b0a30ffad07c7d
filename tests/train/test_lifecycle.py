"""Signals, a loop that is blocked, threads that hang, and what is left to read."""

import asyncio
import signal
import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.errors import HangingError, SelfPlayError
from selfplay.runner.block import Block
from selfplay.supervision import ChildParked, ChildRef, ChildStarted, spec, tasks
from selfplay.train import loop, saving, tree
from selfplay.train.fighting.learner import Learner
from selfplay.train.loop import TrainingLoop
from selfplay.train.monitoring.crash_file import read_crashes
from selfplay.train.monitoring.supervision_notices import SupervisionNotices
from selfplay.train.monitoring.watchdog import BLOCKED
from selfplay.train.tree import Tree
from tests.support.processes import LIMIT_S
from tests.train.ends import assert_saved_and_interrupted, before, exits, same_handlers, signalled, standing
from tests.train.runs import ITERATION, hashes, train

__all__ = ["same_handlers"]  # of every test here
LONG = ("--timesteps", 10**6, "--save-interval", 10**6, "--runners", 2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_first_signal_ends_the_run_after_its_iteration_saved(tmp_path, monkeypatch, number):
    before(monkeypatch, Learner, "update", 2, signalled(number))
    code, text = train(tmp_path / "run", *LONG)
    assert_saved_and_interrupted(tmp_path / "run", code, text, number)


def test_a_first_signal_does_not_wait_for_a_learner_that_is_parked(tmp_path, monkeypatch):
    park_s = 30
    policy = replace(tree.ROOT_PARK, max_restarts=0, backoff_s=park_s, max_backoff_s=park_s)
    monkeypatch.setattr(tree, "ROOT_PARK", policy)

    def broken():
        raise OSError("no device")

    before(monkeypatch, Learner, "update", 2, broken)
    announce, down = SupervisionNotices.on_report, []

    def tell(self, report):
        announce(self, report)
        match report:
            case ChildParked():
                signalled(signal.SIGINT)()
            case ChildStarted(child=ChildRef(id="learner", incarnation=2)):
                down.append(report.down_s)

    monkeypatch.setattr(SupervisionNotices, "on_report", tell)
    code, text = train(tmp_path / "run", *LONG)
    assert code == 130
    assert "Interrupted, and saved," in text
    assert [seconds < park_s for seconds in down] == [True]


def test_a_signal_in_the_middle_of_a_save_changes_nothing_about_it(tmp_path, monkeypatch):
    before(monkeypatch, saving, "write_learner", 2, signalled(signal.SIGTERM))
    code, text = train(tmp_path / "run", *LONG, "--save-interval", 2)
    assert_saved_and_interrupted(tmp_path / "run", code, text, signal.SIGTERM)
    assert list(hashes(tmp_path / "run")) == ["gen_0", "gen_2"]


def test_a_signal_before_the_first_iteration_leaves_a_run_that_can_be_resumed(tmp_path, monkeypatch):
    before(monkeypatch, Tree, "start_runners", 1, signalled(signal.SIGTERM))
    code, _ = train(tmp_path / "run", *LONG)
    assert code == 143
    assert train(tmp_path / "run", "--timesteps", ITERATION, resume=True)[0] == 0


@pytest.mark.blocking("nothing on the loop could answer")
def test_a_second_signal_ends_the_process_at_once_although_the_loop_is_blocked(tmp_path, monkeypatch):
    codes, ended = exits(monkeypatch)
    send = threading.Timer(0, signalled(signal.SIGTERM, signal.SIGINT))

    def block():
        send.start()
        ended.wait(LIMIT_S)

    before(monkeypatch, TrainingLoop, "_report", 2, block)
    code, _ = train(tmp_path / "run", *LONG)
    send.join(LIMIT_S)
    assert sorted((*codes, code)) == [130, 143]  # it went on, as it did not really end


@pytest.mark.full
@pytest.mark.blocking("that is what is tested")
def test_a_blocked_loop_ends_the_process_with_a_code_of_its_own(tmp_path, monkeypatch, capsys):
    codes, ended = exits(monkeypatch)
    before(monkeypatch, TrainingLoop, "_report", 2, ended.wait)
    code, _ = train(tmp_path / "run", "--timesteps", 2 * ITERATION, "--set", "guard.loop_timeout=3")
    assert codes == [BLOCKED]
    assert "The event loop was blocked for 3 s by Condition.wait (threading.py" in capsys.readouterr().err
    run = RunDir(tmp_path / "run")
    assert "The event loop was blocked" in run.stacks.read_text()
    assert [crash.kind for crash in read_crashes(run.crashes, 9)[0]] == ["blocked"]
    assert code == 0  # it goes on, as it did not really end


@pytest.mark.full
def test_threads_that_hang_end_the_run_saved_and_named(tmp_path, monkeypatch):
    gate, calls = threading.Event(), iter(range(1, 10**9))
    original = Block.collect

    def collect(self, order):
        if next(calls) in (4, 5):
            gate.wait()
        return original(self, order)

    monkeypatch.setattr(Block, "collect", collect)
    folder = tmp_path / "run"
    try:
        with pytest.raises(HangingError) as caught:
            train(folder, *LONG, "--collect-timeout", 2, "--set", "guard.max_abandoned=1")
    finally:
        gate.set()
    told = str(caught.value)
    assert told.startswith("Too much hangs, 2 threads and children in all (guard.max_abandoned is 1), ")
    assert "first cause: root/runners/runner-00" in told
    assert "gave no segment within 2 s" in told
    summary = RunDir(folder).read_summary()
    assert summary["iteration"] >= 2
    assert load_latest_learner(RunDir(folder)).meta.iteration == summary["iteration"]
    assert standing(folder).ended == f"failed: {told}"
    assert standing(folder).hanging == 2


def test_a_run_that_is_given_up_leaves_every_crash_and_the_first_cause(tmp_path, monkeypatch):
    def broken(self, *arguments):
        try:
            {}["stage"]
        except KeyError as error:
            raise FloatingPointError("the rules are broken for good") from error

    monkeypatch.setattr(Learner, "update", broken)
    with pytest.raises(SelfPlayError, match="the rules are broken for good; it began with KeyError: 'stage'") as caught:
        train(tmp_path / "run", *LONG)
    found, _ = read_crashes(RunDir(tmp_path / "run").crashes, 10**6)
    assert found[0].kind == "gave up"
    assert "root/learner" in found[0].first_cause
    first = found[-1]
    assert (first.first_cause, first.function) == (
        "KeyError: 'stage'",
        "test_a_run_that_is_given_up_leaves_every_crash_and_the_first_cause.<locals>.broken",
    )
    assert len(found) == standing(tmp_path / "run").crashes
    assert standing(tmp_path / "run").ended == f"failed: {caught.value}"


def test_a_full_disk_costs_crash_reports_and_no_training(tmp_path, monkeypatch):
    folder = tmp_path / "run"

    def broken():
        RunDir(folder).crashes.mkdir()  # nothing can be written there any more
        raise FloatingPointError("once")

    before(monkeypatch, Block, "collect", 2, broken)
    code, text = train(folder, "--timesteps", 3 * ITERATION)
    assert code == 0
    assert text.count("What happens in the tree cannot be written down") == 1
    assert standing(folder).unwritten == 1


def test_a_tree_that_does_not_start_is_one_line(tmp_path, monkeypatch):
    def broken(*arguments):
        raise OSError("no threads left")

    monkeypatch.setattr(loop, "Worker", broken)
    with pytest.raises(SelfPlayError, match=r"the run could not start: .*'learner' did not start.*no threads left"):
        train(tmp_path / "run", *LONG)
    assert standing(tmp_path / "run").ended.startswith("failed: the run could not start")


@pytest.mark.leaves("task")
def test_a_run_ends_although_a_child_swallows_every_cancellation(tmp_path, monkeypatch):
    """`asyncio.run` would wait for it for ever; the process needs no kill, and the run is finished."""
    saved_by_the_test, loops = threading.Event(), []

    async def stubborn(self, ctx):
        ctx.ready()
        loops.append(asyncio.get_running_loop())
        while not saved_by_the_test.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

    monkeypatch.setattr(Tree, "_deliver", stubborn)
    monkeypatch.setattr(spec, "WORKER_SHUTDOWN_S", 0.01)
    monkeypatch.setattr(tasks, "LAST_S", 0.01)
    rescue = threading.Timer(60, lambda: (saved_by_the_test.set(), loops[0].call_soon_threadsafe(loops[0].stop)))
    rescue.start()
    try:
        code, _ = train(tmp_path / "run", "--timesteps", ITERATION)
    finally:
        rescue.cancel()
    assert code == 0
    assert not saved_by_the_test.is_set()
    assert standing(tmp_path / "run").ended == "finished"
    assert {row.state for row in standing(tmp_path / "run").rows} == {"stopped", "abandoned"}
