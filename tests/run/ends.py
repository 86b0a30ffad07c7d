"""How runs of both trainers end before their end: what their tests have in common."""

import os
import signal
import threading

import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.report.tree_status import TreeStatus


def standing(folder):
    return TreeStatus.model_validate_json(RunDir(folder).tree_json.read_text())


def before(monkeypatch, owner, name, number, what):
    """Let ``what`` happen before the ``number``-th call of a function or method."""
    original, calls = getattr(owner, name), iter(range(1, 10**9))

    def call(*arguments, **keywords):
        if next(calls) == number:
            what()
        return original(*arguments, **keywords)

    monkeypatch.setattr(owner, name, call)


def signalled(*numbers):
    """Signals of this process, to the main thread: another thread that got the second one would not wake it."""
    main = threading.main_thread().ident
    return lambda: [signal.pthread_kill(main, number) for number in numbers]


def assert_saved_and_interrupted(folder, code, text, number=signal.SIGINT):
    """As a person who sent this signal once finds it."""
    assert code == 128 + number
    assert text.count("Ctrl-C again stops at once") == 1
    assert "Interrupted, and saved," in text
    run = RunDir(folder)
    summary = run.read_summary()
    assert not summary["finished"]
    assert summary["iteration"] >= 1
    assert load_latest_learner(run).meta.iteration == summary["iteration"]
    assert standing(folder).ended == "interrupted"
    assert {row.state for row in standing(folder).rows} == {"stopped"}


@pytest.fixture(autouse=True)
def same_handlers():
    """A run leaves the handlers of signals as they were."""
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    yield
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def exits(monkeypatch):
    """What the process would have ended with, and an event that is set when it would have."""
    codes, ended = [], threading.Event()
    monkeypatch.setattr(os, "_exit", lambda code: codes.append(code) or ended.set())
    return codes, ended
