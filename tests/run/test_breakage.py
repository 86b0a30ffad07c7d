"""Whatever breaks while a run is going on: it goes on, and says what happened."""

import io
import os
import signal
import threading

import numpy as np
import psutil
import pytest
import torch

from selfplay import load_checkpoint
from selfplay.checkpoint import RunDir, list_generations, load_latest_learner
from selfplay.errors import RunnerError, SelfPlayError
from selfplay.league.ledger import Ledger
from selfplay.ppo import training
from selfplay.ppo.blocks import Blocks
from selfplay.ppo.learner import Learner
from selfplay.run.monitoring.crash_file import read_crashes
from selfplay.runner.block import Block
from selfplay.runner.work_queue import WaitLimits
from selfplay.runner.worker import Worker
from selfplay.supervision import ParkPolicy
from selfplay_melee import bots
from tests.run import runs
from tests.run.runs import ITERATION, MATRIX, STEPS, rows, train

LAST = 5
SIZE = ("--timesteps", LAST * ITERATION, "--save-interval", 2, "--runners", 2)


def at_call(monkeypatch, owner, name, number, what):
    """Let ``what`` happen before the ``number``-th call of a method."""
    original = getattr(owner, name)
    calls = iter(range(1, 10**9))

    def method(self, *arguments, **keywords):
        if next(calls) == number:
            what(self)
        return original(self, *arguments, **keywords)

    monkeypatch.setattr(owner, name, method)


def raising(error):
    def what(self):
        raise error

    return what


def assert_complete(folder, code, text, *, restarts):
    assert code == 0
    assert f"Finished after {LAST} iterations" in text
    metrics = rows(folder / "metrics.jsonl")
    assert [row["iteration"] for row in metrics] == list(range(1, LAST + 1))
    assert all(ITERATION <= row["charts/experiences"] <= 2 * ITERATION for row in metrics)  # nothing is missing
    assert RunDir(folder).read_summary()["restarts"] == restarts
    assert metrics[-1]["runners/restarts"] == restarts


@pytest.mark.parametrize(
    ("number", "error", "words"),
    [
        (1, FloatingPointError("the rules broke"), "FloatingPointError: the rules broke"),
        (6, FloatingPointError("the rules broke"), "FloatingPointError: the rules broke"),
        (4, OSError("no room"), "OSError: no room"),
    ],
)
def test_a_block_that_raises_is_replaced(tmp_path, monkeypatch, number, error, words):
    at_call(monkeypatch, Block, "collect", number, raising(error))
    code, text = train(tmp_path / "run", *SIZE)
    assert_complete(tmp_path / "run", code, text, restarts=1)
    assert text.count(f"failed: {words}; it is replaced") == 1
    assert text.count(f"Tracebacks are in {tmp_path / 'run' / 'crashes.jsonl'}; selfplay tree ") == 1


def allocate(*_):
    """What numpy raises quotes the whole type; so much is more than any machine can address."""
    return np.empty(1 << 50, [(f"field_{i}", "i8") for i in range(40)])


@pytest.mark.parametrize(
    ("owner", "name", "what"),
    [
        (Block, "collect", allocate),
        (Block, "collect", lambda _: torch.empty(1 << 50)),
        (Blocks, "open", allocate),
        (Learner, "update", allocate),
        (Learner, "__init__", allocate),
    ],
)
def test_a_run_without_memory_ends_with_one_line_and_restarts_nothing(tmp_path, monkeypatch, owner, name, what):
    original, calls = getattr(owner, name), []

    def method(self, *arguments, **keywords):
        calls.append(name)
        what(self)
        return original(self, *arguments, **keywords)

    monkeypatch.setattr(owner, name, method)
    with pytest.raises(SelfPlayError) as caught:
        train(tmp_path / "run", *SIZE, "--runners", 1)
    message = str(caught.value)
    assert message.startswith("the run ended, since memory ran out: root/")
    assert "llocate" in message
    assert "lower --num-games or --rollout-length" in message
    assert "\n" not in message
    assert len(message) < 400
    assert len(calls) == 1


def test_a_replaced_block_starts_over_and_not_at_the_checkpoint(tmp_path, monkeypatch):
    assert train(tmp_path / "run", *SIZE, "--timesteps", 2 * ITERATION)[0] == 0
    restored = []
    at_call(monkeypatch, Block, "collect", 4, raising(FloatingPointError("the rules broke")))
    original = Block.restore
    monkeypatch.setattr(Block, "restore", lambda self, *state: restored.append(self) or original(self, *state))
    code, text = train(tmp_path / "run", "--timesteps", LAST * ITERATION, resume=True)
    assert_complete(tmp_path / "run", code, text, restarts=1)
    assert len(restored) == 2  # those two that began, and not the third


def test_a_block_that_hangs_in_a_thread_is_abandoned(tmp_path, monkeypatch):
    gate = threading.Event()
    at_call(monkeypatch, Block, "collect", 4, lambda block: gate.wait())
    before = Worker.abandoned
    try:
        code, text = train(tmp_path / "run", *SIZE, "--collect-timeout", 5)
    finally:
        gate.set()
    assert_complete(tmp_path / "run", code, text, restarts=1)
    assert "gave no segment within 5 s and is replaced (--collect-timeout sets the limit)" in text
    assert Worker.abandoned == before + 1
    assert RunDir(tmp_path / "run").read_summary()["abandoned"] == Worker.abandoned


@pytest.mark.full
@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGKILL, "exit code -9 in the middle of a segment"), (signal.SIGSTOP, "--collect-timeout")],
    ids=["killed", "stopped"],
)
def test_a_game_process_that_breaks_is_replaced(tmp_path, monkeypatch, number, words):
    at_call(monkeypatch, Block, "collect", 4, lambda block: os.kill(block.game.pid, number))
    code, text = train(tmp_path / "run", *SIZE, "--host", "process", "--collect-timeout", 6, size=MATRIX)
    assert_complete(tmp_path / "run", code, text, restarts=1)
    assert words in text


@pytest.mark.full
def test_all_game_processes_killed_at_once_are_replaced(tmp_path, monkeypatch):
    def kill_all(block):
        games = [child for child in psutil.Process().children() if "selfplay.runner.game_process" in child.cmdline()]
        assert len(games) == 2
        for game in games:
            game.kill()

    at_call(monkeypatch, Block, "collect", 5, kill_all)
    code, text = train(tmp_path / "run", *SIZE, "--host", "process", size=MATRIX)
    assert_complete(tmp_path / "run", code, text, restarts=2)
    found, unreadable = read_crashes(RunDir(tmp_path / "run").crashes, 9)
    assert {(crash.id, crash.incarnation, crash.kind) for crash in found} == {
        ("root/runners/runner-000", 1, "error"),
        ("root/runners/runner-001", 1, "error"),
    }
    assert (len(found), unreadable) == (2, 0)


def test_a_learner_that_crashes_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    at_call(monkeypatch, Learner, "update", 4, raising(OSError("no room")))
    code, text = train(tmp_path / "run", *SIZE, "--track-elo")
    assert code == 0
    assert "learner failed: OSError: no room; it is replaced" in text
    assert f"Finished after {LAST} iterations" in text
    assert "Elo Leaderboard" in text
    assert [row["iteration"] for row in rows(tmp_path / "run" / "metrics.jsonl")] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("number", [2, 3])
def test_weights_that_are_not_finite_are_never_saved(tmp_path, monkeypatch, number):
    """Whatever made them so: the learner fails as it would save them, and goes on from the state before."""

    def ruin(learner):
        with torch.no_grad():
            next(learner.network.parameters()).view(-1)[0] = float("nan")

    at_call(monkeypatch, Learner, "policy", number, ruin)
    code, text = train(tmp_path / "run", *SIZE, "--runners", 1)
    assert code == 0
    assert "of the network is not finite; nothing of it is saved; it is replaced" in text
    assert f"Finished after {LAST} iterations" in text
    for generation in list_generations(RunDir(tmp_path / "run")):
        params = load_checkpoint(generation.path).params
        assert all(np.isfinite(array).all() for array in params.values())


def test_a_learner_that_fails_more_often_than_its_restarts_is_waited_for(tmp_path, monkeypatch):
    """A disk or a device that is gone for a moment ends no run."""
    attempts = iter(range(1, 10**9))
    original = Learner.update

    def update(self, *arguments, **keywords):
        if 3 <= next(attempts) <= 7:
            raise OSError("no device")
        return original(self, *arguments, **keywords)

    monkeypatch.setattr(Learner, "update", update)
    code, text = train(tmp_path / "run", *SIZE)
    assert code == 0
    assert text.count("learner failed: OSError: no device; it is replaced") == 5
    assert text.count("learner fails again and again and is parked") == 2
    assert f"Finished after {LAST} iterations" in text


def test_a_learner_that_fails_for_good_ends_the_run_with_its_first_cause(tmp_path, monkeypatch):
    attempts = iter(range(1, 10**9))

    def update(self, *arguments, **keywords):
        raise OSError(f"no device, attempt {next(attempts)}")

    monkeypatch.setattr(Learner, "update", update)
    with pytest.raises(SelfPlayError, match=r"learner \(incarnation 1\): error: OSError: no device, attempt 1$"):
        train(tmp_path / "run", *SIZE)
    assert next(attempts) == 9  # it was started, restarted three times, and tried again after each of four waits


def test_runners_keep_their_games_when_the_learner_crashes(tmp_path, monkeypatch):
    """Also those against generations that the learner which comes next has not drawn."""
    at_call(monkeypatch, Learner, "update", 4, raising(OSError("no room")))
    long = ("--max-episode-frames", 7200, "--mode", "delta_uniform", "--held-out", ",".join(bots.LADDER))
    code, _ = train(tmp_path / "run", *SIZE, *long)
    assert code == 0
    assert RunDir(tmp_path / "run").read_summary()["restarts"] == 0


def test_a_learner_that_crashes_before_its_first_checkpoint_starts_over(tmp_path, monkeypatch):
    at_call(monkeypatch, Learner, "arrays", 1, raising(OSError("no disk")))
    code, text = train(tmp_path / "run", *SIZE)
    assert code == 0
    assert "OSError: no disk" in text
    assert f"Finished after {LAST} iterations" in text


def test_a_ledger_that_cannot_be_written_costs_no_training(tmp_path, monkeypatch):
    at_call(monkeypatch, Ledger, "append", 1, raising(OSError("disk full")))
    code, text = train(tmp_path / "run", *SIZE, "--track-elo")
    assert code == 0
    assert "disk full" in text
    assert "Elo Leaderboard" in text


class Gone(io.StringIO):
    """A terminal that was closed."""

    def write(self, text):
        raise BrokenPipeError(32, "Broken pipe")


def test_a_terminal_that_is_gone_costs_nothing_but_its_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(runs.io, "StringIO", Gone)
    size = ("--num-games", 1, "--rollout-length", 1, "--timesteps", 150, "--save-interval", 100)
    code, _ = train(tmp_path / "run", *size)
    assert code == 0
    assert len(rows(tmp_path / "run" / "metrics.jsonl")) == 150
    assert "Finished after 150 iterations" in (tmp_path / "run" / "log.txt").read_text()


def test_one_runner_that_is_parked_is_waited_for(tmp_path, monkeypatch):
    quick = ParkPolicy(max_restarts=1, backoff_s=0.01)
    monkeypatch.setattr(training, "PARK", quick)
    calls, original = iter(range(1, 10**9)), Block.collect

    def collect(self, order):
        if next(calls) in range(3, 9):
            raise OSError("no room for now")
        return original(self, order)

    monkeypatch.setattr(Block, "collect", collect)
    size = ("--timesteps", LAST * ITERATION, "--runners", 1)
    code, text = train(tmp_path / "run", *size)
    assert_complete(tmp_path / "run", code, text, restarts=6)
    assert "runner-000 fails again and again and is parked for 0.02 s; first cause: " in text


def test_a_run_that_cannot_go_on_names_the_first_cause(tmp_path, monkeypatch):
    monkeypatch.setattr("selfplay.run.training.BEGINNING_S", 0.1)

    def broken(self, order):
        raise FloatingPointError("the rules are broken for good")

    monkeypatch.setattr(Block, "collect", broken)
    with pytest.raises(SelfPlayError, match="the rules are broken for good"):
        train(tmp_path / "run", *SIZE)


def test_a_scripted_player_that_is_broken_ends_the_run_saved_and_with_its_name(tmp_path, monkeypatch):
    """No restart mends it, although segments without this player go well."""
    monkeypatch.setattr(training, "PARK", ParkPolicy(max_restarts=10, backoff_s=0.01))
    monkeypatch.setattr(training, "patience", lambda *_: WaitLimits(0.5, 0.5))
    size = (
        "--game-type",
        "tests.games.games:Cheated",
        "--num-games",
        4,
        "--runners",
        1,
        "--timesteps",
        400 * ITERATION,
    )
    with pytest.raises(RunnerError, match=r"^every runner fails .*: game \d, player cheat: \[99\] is not legal"):
        train(tmp_path / "run", *size, "--mode", "simple_mix", "--rollout-length", STEPS, size=("--hidden", "8"))
    run = RunDir(tmp_path / "run")
    summary = run.read_summary()
    assert summary["iteration"] == load_latest_learner(run).meta.iteration > 0
    assert not summary["finished"]
    assert "learner failed" not in run.log.read_text()
