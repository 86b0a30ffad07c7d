"""Self-play in words ends before its end as other runs do: by signals, a blocked loop, threads that hang."""

import os
import signal

import pytest

from selfplay.checkpoint import RunDir, load_latest_learner
from selfplay.errors import HangingError
from selfplay.runner.collector import DialogueCollector
from selfplay.runner.worker import Worker
from selfplay.trainer.crash_file import read_crashes
from selfplay.trainer.dialogue import saving
from selfplay.trainer.dialogue.loop import WordsLoop
from selfplay.trainer.watchdog import BLOCKED
from tests.trainer.dialogue.test_app import resume, run
from tests.trainer.ends import assert_saved_and_interrupted, before, exits, same_handlers, signalled, standing

__all__ = ["same_handlers"]  # of every test here
ENDLESS = ("--games", 10**6, "--save-interval", 10**6, "--evaluation-states", 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_first_signal_ends_the_run_after_its_iteration_saved(kuhn_start, tmp_path, monkeypatch, number):
    before(monkeypatch, WordsLoop, "_update", 2, signalled(number))
    code, text = run(tmp_path / "run", kuhn_start, *ENDLESS)
    assert_saved_and_interrupted(tmp_path / "run", code, text, number)
    iteration = RunDir(tmp_path / "run").read_summary()["iteration"]
    code, text = resume(tmp_path / "run", "--games", 32 * (iteration + 1))
    assert code == 0
    assert standing(tmp_path / "run").ended == "finished"


def test_a_signal_in_the_middle_of_a_save_changes_nothing_about_it(kuhn_start, tmp_path, monkeypatch):
    before(monkeypatch, saving, "write_learner", 2, signalled(signal.SIGTERM))
    code, text = run(tmp_path / "run", kuhn_start, *ENDLESS, "--save-interval", 2)
    assert_saved_and_interrupted(tmp_path / "run", code, text, signal.SIGTERM)


def test_a_second_signal_ends_the_process_at_once(kuhn_start, tmp_path, monkeypatch):
    codes, ended = exits(monkeypatch)

    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        ended.wait()  # in the thread of the update: the loop goes on

    before(monkeypatch, WordsLoop, "_update", 2, twice)
    code, _ = run(tmp_path / "run", kuhn_start, *ENDLESS)
    assert sorted((*codes, code)) == [130, 143]  # it went on, as it did not really end


@pytest.mark.blocking("that is what is tested")
def test_a_blocked_loop_ends_the_process_with_a_code_of_its_own(kuhn_start, tmp_path, monkeypatch, capsys):
    codes, ended = exits(monkeypatch)
    before(monkeypatch, WordsLoop, "_report", 2, ended.wait)
    run(tmp_path / "run", kuhn_start, *ENDLESS, "--games", 64, "--loop-timeout", 3)
    assert codes == [BLOCKED]
    assert "The event loop was blocked for 3 s by " in capsys.readouterr().err
    assert [crash.kind for crash in read_crashes(RunDir(tmp_path / "run").crashes, 9)[0]] == ["blocked"]


def test_threads_that_hang_end_the_run_saved_and_crashes_are_written_down(kuhn_start, tmp_path, monkeypatch):
    def broken():
        monkeypatch.setattr(Worker, "hanging", classmethod(lambda cls: 3))
        raise FloatingPointError("a runner fell over")

    before(monkeypatch, DialogueCollector, "collect", 4, broken)
    folder = tmp_path / "run"
    with pytest.raises(
        HangingError, match=r"Too much hangs, 3 threads .*--max-abandoned is 2.*first cause: .*a runner fell over"
    ):
        run(folder, kuhn_start, *ENDLESS, "--max-abandoned", 2)
    run_dir = RunDir(folder)
    assert load_latest_learner(run_dir).meta.iteration == run_dir.read_summary()["iteration"] >= 1
    ((crash,), _) = read_crashes(run_dir.crashes, 9)
    assert crash.id in ("root/runners/runner-000", "root/runners/runner-001")
    assert (crash.first_cause, crash.function) == ("FloatingPointError: a runner fell over", broken.__qualname__)
    assert standing(folder).crashes == 1
