"""Dialogue self-play ends before its end as other runs do: by signals, a blocked loop, threads that hang."""

import os
import signal
import threading
from itertools import count

import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.dialogue import training
from selfplay.dialogue.players import load_model
from selfplay.dialogue.runner import DialogueCollector
from selfplay.dialogue.training import DialogueTraining
from selfplay.errors import HangingError, RunnerError
from selfplay.run.monitoring.crash_file import read_crashes
from selfplay.runner.work_queue import WaitLimits, WorkQueue
from selfplay.runner.worker import Worker
from selfplay.supervision import ParkPolicy
from tests.dialogue.language.stub_server import SGLANG, Stub
from tests.dialogue.language.taught import passes_or_bets
from tests.dialogue.test_app import resume, run
from tests.run.ends import assert_saved_and_interrupted, before, exits, same_handlers, signalled, standing
from tests.support.processes import LIMIT_S

__all__ = ["same_handlers"]  # of every test here
LONG = ("--games", 10**5, "--save-interval", 10**6, "--evaluation-states", 0)


def test_a_first_signal_ends_the_run_after_its_iteration_saved(kuhn_start, tmp_path, monkeypatch):
    before(monkeypatch, DialogueTraining, "_update", 2, signalled(signal.SIGTERM))
    code, text = run(tmp_path / "run", kuhn_start, *LONG)
    assert_saved_and_interrupted(tmp_path / "run", code, text, signal.SIGTERM)
    iteration = RunDir(tmp_path / "run").read_summary()["iteration"]
    code, text = resume(tmp_path / "run", "--games", 32 * (iteration + 1))
    assert code == 0
    assert standing(tmp_path / "run").ended == "finished"


@pytest.mark.blocking("the second signal waits a second at most for the disk")
def test_a_second_signal_ends_the_process_at_once(kuhn_start, tmp_path, monkeypatch):
    codes, ended = exits(monkeypatch)

    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        ended.wait(LIMIT_S)  # in the thread of the update: the loop goes on

    before(monkeypatch, DialogueTraining, "_update", 2, twice)
    code, _ = run(tmp_path / "run", kuhn_start, *LONG)
    assert sorted((*codes, code)) == [130, 143]  # it went on, as it did not really end


def test_a_collection_longer_than_the_limit_that_makes_progress_is_not_replaced(kuhn_start, tmp_path, monkeypatch):
    looks, seen = count(), threading.Event()

    def progress(_):
        if (look := next(looks)) == 5:
            seen.set()
        return look

    monkeypatch.setattr(training, "FIRST_TIMEOUT_S", 0.01)
    monkeypatch.setattr(DialogueCollector, "progress", property(progress), raising=False)
    before(monkeypatch, DialogueCollector, "collect", 1, lambda: seen.wait(LIMIT_S))
    code, _ = run(
        tmp_path / "run", kuhn_start, "--games", 64, "--evaluation-states", 0, "--set", "server.timeout=0.001"
    )
    assert (code, RunDir(tmp_path / "run").read_summary()["restarts"]) == (0, 0)
    assert seen.is_set()


def test_threads_that_hang_end_the_run_saved_and_crashes_are_written_down(kuhn_start, tmp_path, monkeypatch):
    def broken():
        monkeypatch.setattr(Worker, "hanging", classmethod(lambda cls: 3))
        raise FloatingPointError("a runner fell over")

    before(monkeypatch, DialogueCollector, "collect", 4, broken)
    folder = tmp_path / "run"
    with pytest.raises(
        HangingError, match=r"Too much hangs, 3 threads .*guard.max_abandoned is 2.*first cause: .*a runner fell over"
    ):
        run(folder, kuhn_start, *LONG, "--set", "guard.max_abandoned=2")
    run_dir = RunDir(folder)
    assert load_latest_learner(run_dir).meta.iteration == run_dir.read_summary()["iteration"] >= 1
    ((crash,), _) = read_crashes(run_dir.crashes, 9)
    assert crash.id in ("root/runners/runner-000", "root/runners/runner-001")
    assert (crash.first_cause, crash.function) == ("FloatingPointError: a runner fell over", broken.__qualname__)
    assert standing(folder).crashes == 1


def test_one_runner_that_is_parked_is_waited_for(kuhn_start, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "PARK", ParkPolicy(max_restarts=0, backoff_s=0.01))

    def broken():
        raise OSError("no room for now")

    for call in (3, 4):
        before(monkeypatch, DialogueCollector, "collect", call, broken)
    folder = tmp_path / "run"
    code, text = run(folder, kuhn_start, *LONG, "--games", 96, "--runners", 1)
    assert code == 0, text
    assert "is parked for 0.01 s" in text
    assert standing(folder).ended == "finished"


def test_games_that_never_succeed_end_the_run_saved_and_with_the_first_cause(kuhn_start, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "PARK", ParkPolicy(max_restarts=1, backoff_s=0.01))
    monkeypatch.setattr(training, "patience", lambda *_: WaitLimits(0.1, 0.1))
    original, calls = DialogueCollector.collect, count(1)

    def collect(self, *order):
        if next(calls) > 1:
            raise FloatingPointError("the rules are broken for good")
        return original(self, *order)

    monkeypatch.setattr(DialogueCollector, "collect", collect)
    folder = tmp_path / "run"
    with pytest.raises(RunnerError, match=r"every runner fails again and again; .*the rules are broken for good"):
        run(folder, kuhn_start, "--runners", 1, "--evaluation-states", 0)
    assert load_latest_learner(RunDir(folder)).meta.iteration == 1
    assert "learner failed" not in RunDir(folder).log.read_text()


@pytest.mark.blocking("a writer has an event loop of its own, on which nobody else waits")
def test_a_first_signal_does_not_wait_for_replies_that_a_server_fails_to_give(kuhn_start, tmp_path):
    failed, games = [], 32

    def ruin(number):
        if number < 100:
            return None
        if not failed:
            signalled(signal.SIGINT)()
        failed.append(number)
        return "garbage"

    guess = passes_or_bets(load_model(str(kuhn_start)).chat)
    with Stub(SGLANG, guess, ruin) as stub:
        server = ("--server-url", stub.url, "--server-frozen", "--set", "server.retries=4")
        code, text = run(tmp_path / "run", kuhn_start, *LONG, *server, "--kl", 0)
    assert_saved_and_interrupted(tmp_path / "run", code, text)
    assert len(failed) <= games  # one for each game, none of them again


def test_a_first_signal_does_not_wait_for_a_runner_that_is_parked(kuhn_start, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "PARK", ParkPolicy(max_restarts=0, backoff_s=60.0))

    def broken():
        raise OSError("no room")

    before(monkeypatch, DialogueCollector, "collect", 2, broken)
    before(monkeypatch, WorkQueue, "give_up", 1, signalled(signal.SIGINT))
    code, text = run(tmp_path / "run", kuhn_start, *LONG, "--runners", 1)
    assert code == 128 + signal.SIGINT
    assert "Interrupted, and saved," in text
    assert load_latest_learner(RunDir(tmp_path / "run")).meta.iteration == 1
