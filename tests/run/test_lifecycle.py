"""Signals, a loop that is blocked, threads that hang, and what is left to read."""

import asyncio
import signal
import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.errors import HangingError, RunnerError, SelfPlayError
from selfplay.learner.ppo import PPO
from selfplay.ppo.learner import Learner
from selfplay.run import loop, saving, stopping, tree
from selfplay.run.loop import TrainingLoop
from selfplay.run.monitoring.crash_file import read_crashes
from selfplay.run.monitoring.supervision_notices import SupervisionNotices
from selfplay.run.monitoring.watchdog import BLOCKED
from selfplay.run.tree import Tree
from selfplay.runner import work_queue
from selfplay.runner.block import Block
from selfplay.supervision import ChildParked, ChildRef, ChildSpec, ChildStarted, spec, tasks
from tests.run.ends import assert_saved_and_interrupted, before, exits, same_handlers, signalled, standing
from tests.run.runs import ITERATION, hashes, train
from tests.support.processes import LIMIT_S

__all__ = ["same_handlers"]  # of every test here
LONG = ("--timesteps", 10**6, "--save-interval", 10**6, "--runners", 2)
KUHN = (
    *("--game-type", "kuhn", "--num-games", 4, "--rollout-length", 16, "--hidden", 8, "--set", "run.threads=1"),
    *("--timesteps", 10**6, "--save-interval", 10**6),
)


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


@pytest.fixture
def gate():
    """Opens as the test ends: for threads that hang until then."""
    opened = threading.Event()
    yield opened
    opened.set()


@pytest.fixture
def hurried(monkeypatch):
    """The iteration in which a run is to end has no time to speak of."""
    monkeypatch.setattr(stopping, "LEAST_S", 0.05)
    monkeypatch.setattr(work_queue, "LEAST_TIMEOUT_S", 0.05)


@pytest.fixture
def time_is_over(monkeypatch, hurried):
    """Lets the time of a run be over when it is called, from any thread."""
    begun = []
    monkeypatch.setattr(
        stopping.Overtime, "begin", lambda self, limit_s: begun.append((asyncio.get_running_loop(), self))
    )

    def over():
        loop, overtime = begun[0]
        loop.call_soon_threadsafe(overtime._time_is_over)

    return over


def test_an_update_that_never_ends_is_ended_when_the_time_is_over(tmp_path, monkeypatch, time_is_over):
    before(monkeypatch, Learner, "update", 2, time_is_over)
    original, epochs = PPO.update, iter((1, 10**9))

    def update(self, *arguments, **keywords):
        self.settings = replace(self.settings, epochs=next(epochs))
        return original(self, *arguments, **keywords)

    monkeypatch.setattr(PPO, "update", update)
    code, text = train(tmp_path / "run", size=KUHN)
    assert code == 0
    assert "--max-minutes is over and the update has not ended; no longer waiting for it" in text
    assert "Ended by --max-minutes during the update, and saved, after 2 iterations" in text
    assert load_latest_learner(RunDir(tmp_path / "run")).meta.iteration == 2


def test_games_that_never_end_are_dropped_when_the_time_is_over(tmp_path, monkeypatch, gate, time_is_over):
    before(monkeypatch, Block, "collect", 3, lambda: (time_is_over(), gate.wait()))
    code, text = train(tmp_path / "run", size=KUHN)
    assert code == 0
    assert "Ended by --max-minutes during the collection of games, and saved, after 2 iterations" in text
    assert load_latest_learner(RunDir(tmp_path / "run")).meta.iteration == 2


def test_a_run_whose_games_fail_until_its_time_is_over_names_the_first_failure(
    tmp_path, monkeypatch, gate, time_is_over
):
    def broken():
        raise OSError("no port")

    before(monkeypatch, Block, "collect", 1, broken)
    before(monkeypatch, Block, "collect", 2, lambda: (time_is_over(), gate.wait()))
    with pytest.raises(
        RunnerError, match="over before an iteration has ended; first cause: runner-000: OSError: no port"
    ):
        train(tmp_path / "run", size=KUHN)


def test_a_run_whose_time_is_over_before_its_first_iteration_fails(tmp_path, monkeypatch, gate, hurried):
    before(monkeypatch, Block, "collect", 1, gate.wait)
    with pytest.raises(
        RunnerError, match="--max-minutes is over before an iteration has ended; first cause: no runner"
    ):
        train(tmp_path / "run", "--max-minutes", 0.001, size=KUHN)
    assert load_latest_learner(RunDir(tmp_path / "run")).meta.iteration == 0


def test_games_that_never_end_are_dropped_after_a_signal(tmp_path, monkeypatch, gate, hurried):
    def hang():
        signalled(signal.SIGTERM)()
        gate.wait()

    before(monkeypatch, Block, "collect", 3, hang)
    code, text = train(tmp_path / "run", size=KUHN)
    assert_saved_and_interrupted(tmp_path / "run", code, text, signal.SIGTERM)


def test_an_update_that_cannot_be_ended_ends_the_run_at_its_last_checkpoint(tmp_path, monkeypatch, gate, hurried):
    def hang():
        signalled(signal.SIGINT)()
        gate.wait()

    before(monkeypatch, Learner, "update", 2, hang)
    with pytest.raises(HangingError, match=r"the update does not end; .* the last checkpoint, of iteration 0"):
        train(tmp_path / "run", size=KUHN)
    assert standing(tmp_path / "run").ended.startswith("failed: the update does not end")


@pytest.mark.parametrize("where", [(Block, "warm_up"), (Tree, "start_runners")])
def test_a_signal_ends_a_start_that_hangs(tmp_path, monkeypatch, gate, where):
    def hang():
        signalled(signal.SIGTERM)()
        if where[0] is Block:
            gate.wait()

    before(monkeypatch, *where, 1, hang)
    code, _ = train(tmp_path / "run", size=KUHN)
    assert code == 143
    assert load_latest_learner(RunDir(tmp_path / "run")).meta.iteration == 0


def test_a_run_that_was_stopped_before_its_first_iteration_prints_no_empty_table(tmp_path, monkeypatch):
    before(monkeypatch, Tree, "start_runners", 1, signalled(signal.SIGTERM))
    code, text = train(tmp_path / "run", "--track-elo", size=KUHN)
    assert code == 143
    assert "No rating game was played" in text
    assert "Leaderboard" not in text


def test_a_signal_ends_the_start_of_a_service_that_hangs(tmp_path, monkeypatch):
    async def service(ctx):
        signalled(signal.SIGTERM)()
        await asyncio.Event().wait()

    specify = Tree._spec
    monkeypatch.setattr(
        Tree,
        "_spec",
        lambda self: replace(old := specify(self), children=(ChildSpec("server", service), *old.children)),
    )
    code, text = train(tmp_path / "run", size=KUHN)
    assert code == 143
    assert "Stopped before the first iteration" in text
