"""Runs are never overwritten, found again, and written by one trainer only."""

import fcntl
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from selfplay.checkpoint import RunDir, create_run, resolve_run, run_dir
from selfplay.checkpoint.run_dir import find_runs
from selfplay.errors import CheckpointError, ConfigError, CorruptError, NotARunError, RunExistsError, RunLockedError
from tests.checkpoint.samples import full_disk
from tests.support.processes import Process


def started(path: Path, activity_s: int = 0) -> RunDir:
    """A run whose last activity was at a given time."""
    run = RunDir(path)
    run.write_run({"seed": 1})
    os.utime(run.run_json, (activity_s, activity_s))
    return run


def test_every_path_of_a_run_is_named():
    run = RunDir(Path("checkpoints/self_play"))
    found = {name: getattr(run, name) for name in dir(run) if name != "path"}
    names = {name: value.name for name, value in found.items() if isinstance(value, Path)}
    assert names == {
        "run_json": "run.json",
        "summary_json": "summary.json",
        "log": "log.txt",
        "metrics": "metrics.jsonl",
        "generations": "generations",
        "exploiters": "exploiters",
        "external_opponents": "external_opponents",
        "learner": "learner",
        "ledger": "ledger.jsonl",
        "people": "people.jsonl",
        "people_games": "games",
        "best_json": "best.json",
        "tree_json": "tree.json",
        "crashes": "crashes.jsonl",
        "stacks": "blocked.txt",
        "films": "films",
        "events": "events",
        "rating_events": "ratings",
        "lock_file": ".lock",
    }
    assert run.rating_events.parent == run.events
    assert run.people_games.parent == run.path / "people"
    below = names.keys() - {"rating_events", "people_games"}
    assert all(getattr(run, name).parent == run.path for name in below)


def test_a_new_run_gets_its_folder(tmp_path):
    run = create_run(tmp_path / "deep" / "mine")
    assert run.path.is_dir()
    assert not run.holds_run()
    assert create_run(run.path) == run  # still empty, so it may be used


def test_a_folder_with_a_run_is_never_overwritten(tmp_path):
    run = started(tmp_path / "mine")
    with pytest.raises(RunExistsError) as caught:
        create_run(run.path)
    assert f"--resume --checkpoint {run.path}" in str(caught.value)
    assert "another folder with --checkpoint" in str(caught.value)
    assert caught.value.exit_code == 2
    assert run.read_run() == {"seed": 1}


def test_a_folder_with_other_things_is_refused(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(ConfigError, match=f"--checkpoint {re.escape(str(tmp_path / 'self_play'))}"):
        create_run(tmp_path)


@pytest.mark.parametrize("is_default", [True, False])
@pytest.mark.parametrize(
    ("name", "words"), [("a/run", "a is a file"), ("a/b/run", "a is a file"), ("x" * 300 + "/run", "too long")]
)
def test_a_file_in_the_way_is_named(tmp_path, name, words, is_default):
    (tmp_path / "a").write_text("mine")
    with pytest.raises(ConfigError, match=f"--checkpoint .*{words}") as caught:
        create_run(tmp_path / name, is_default=is_default)
    assert caught.value.exit_code == 2
    with pytest.raises(ConfigError, match=r"--checkpoint .*a is a file"):
        create_run(tmp_path / "a")


def test_a_place_where_nothing_can_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda place, mode: place != tmp_path)
    for path, is_default in ((tmp_path / "a" / "run", False), (tmp_path / "run", True)):
        with pytest.raises(CheckpointError, match=f"{tmp_path} is not writable"):
            create_run(path, is_default=is_default)
    (tmp_path / "run").mkdir()
    assert create_run(tmp_path / "run").path == tmp_path / "run"  # such as a mounted folder
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_the_default_name_is_numbered(tmp_path):
    path = tmp_path / "checkpoints" / "self_play"
    names = [create_run(path, is_default=True).path.name for _ in range(3)]
    assert names == ["self_play", "self_play-2", "self_play-3"]
    (path.parent / "self_play-4").write_text("a file")
    assert create_run(path, is_default=True).path.name == "self_play-5"


def test_runs_that_start_at_once_get_their_own_folders(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda _: create_run(tmp_path / "self_play", is_default=True), range(24)))
    assert len({run.path for run in runs}) == 24


def test_run_and_summary_are_documents(tmp_path):
    run = create_run(tmp_path / "mine")
    with pytest.raises(NotARunError, match=r"run\.json does not exist"):
        run.read_run()
    with pytest.raises(NotARunError, match=r"summary\.json does not exist"):
        run.read_summary()
    run.write_run({"config": {"seed": 3}})
    run.write_summary({"iterations": 10})
    assert run.holds_run()
    assert run.read_run() == {"config": {"seed": 3}}
    assert run.read_summary() == {"iterations": 10}
    with full_disk("write", 0), pytest.raises(CheckpointError, match="No space left"):
        run.write_summary({})
    assert run.read_summary() == {"iterations": 10}
    run.run_json.write_text("{")
    with pytest.raises(CorruptError, match=r"run\.json"):
        run.read_run()


def test_the_newest_run_is_the_one_with_the_latest_activity(tmp_path):
    assert run_dir.find_runs(tmp_path / "missing") == []
    assert run_dir.find_runs(tmp_path) == []
    first, second = started(tmp_path / "first", 100), started(tmp_path / "group" / "second", 200)
    started(tmp_path / ".hidden", 900)
    (tmp_path / "empty").mkdir()
    assert run_dir.find_runs(tmp_path)[0] == second
    first.metrics.write_text("")
    os.utime(first.metrics, (300, 300))
    assert run_dir.find_runs(tmp_path)[0] == first
    assert find_runs(tmp_path) == [first, second]
    assert run_dir.find_runs(second.path)[0] == second


def test_a_run_is_resolved(tmp_path):
    with pytest.raises(NotARunError, match="no run was named; there is no run below"):
        resolve_run(None, tmp_path)
    with pytest.raises(NotARunError, match=r"nothing holds no run; there is no run below .* selfplay train"):
        resolve_run(tmp_path / "nothing", tmp_path)
    run, newer = started(tmp_path / "a", 100), started(tmp_path / "b", 200)
    assert resolve_run(run.path, tmp_path) == run
    assert resolve_run(None, tmp_path) == newer
    with pytest.raises(NotARunError, match=f"nothing holds no run; the newest run is {newer.path}") as caught:
        resolve_run(tmp_path / "nothing", tmp_path)
    assert caught.value.exit_code == 2


def test_runs_are_looked_for_below_checkpoints_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    started(tmp_path / "checkpoints" / "self_play")
    assert resolve_run().path == Path("checkpoints/self_play")


def test_one_trainer_at_a_time(tmp_path):
    run = create_run(tmp_path / "mine")
    with run.lock():
        with (
            pytest.raises(RunLockedError, match=rf"process {os.getpid()}\) works in .*mine.*--checkpoint") as caught,
            run.lock(),
        ):
            pytest.fail("two trainers in one run")
        assert caught.value.exit_code == 2
    with run.lock():
        pass


def test_whether_a_trainer_is_at_work_is_told(tmp_path):
    run = create_run(tmp_path / "mine")
    assert run.trainer() is None
    with run.lock():
        assert run.trainer() == str(os.getpid())
        run.lock_file.write_text("\x1b[2J")
        assert run.trainer() == "unknown"
    assert run.trainer() is None
    run.lock_file.unlink()
    run.lock_file.symlink_to("elsewhere")
    with pytest.raises(CheckpointError, match="cannot open"):
        run.trainer()


def test_who_only_looks_keeps_no_trainer_out(tmp_path, monkeypatch):
    run = create_run(tmp_path / "mine")
    with run.lock_file.open("w") as looks:
        fcntl.flock(looks, fcntl.LOCK_SH)
        monkeypatch.setattr(run_dir.time, "sleep", lambda seconds: fcntl.flock(looks, fcntl.LOCK_UN))
        with run.lock():
            assert run.trainer() == str(os.getpid())


def test_the_lock_ends_with_its_process(tmp_path):
    run = create_run(tmp_path / "mine")
    code = (
        "import sys, pathlib; from selfplay.checkpoint import RunDir\n"
        "with RunDir(pathlib.Path(sys.argv[1])).lock(): print('locked', flush=True); sys.stdin.read()"
    )
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", code, str(run.path)]
    with Process(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(RunLockedError, match=f"process {other.pid}"), run.lock():
            pytest.fail("two trainers in one run")
        other.send_signal(signal.SIGKILL)
        other.wait()
        with run.lock():
            pass


def test_the_lock_clears_what_crashes_left(tmp_path):
    run = create_run(tmp_path / "mine")
    for folder in (run.path, run.generations, run.learner):
        (folder / ".tmp-x").mkdir(parents=True)
        (folder / ".tmp-x" / "file").write_text("half")
        (folder / "kept").write_text("")
    with run.lock():
        assert sorted(path.name for path in run.path.rglob("*")) == [
            ".lock",
            "generations",
            "kept",
            "kept",
            "kept",
            "learner",
        ]


def test_a_lock_file_that_is_a_link_is_refused(tmp_path):
    run = create_run(tmp_path / "mine")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    run.lock_file.symlink_to(victim)
    with pytest.raises(CheckpointError, match="cannot open"), run.lock():
        pytest.fail("a link was followed")
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("name", ["ledger.jsonl", "learner", "generations/gen_1", "events/ratings/old", "log.txt"])
def test_a_run_that_leads_out_of_its_folder_is_not_worked_in(tmp_path, name):
    run, victim = create_run(tmp_path / "mine"), tmp_path / "victim"
    victim.mkdir()
    (victim / ".tmp-precious").write_text("precious")
    link = run.path / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(victim)
    with pytest.raises(CheckpointError, match=f"{name} is a link: a run folder has only plain files"), run.lock():
        pytest.fail("a link was followed")
    assert (victim / ".tmp-precious").read_text() == "precious"


def test_nor_one_with_a_pipe_in_it(tmp_path):
    run = create_run(tmp_path / "mine")
    os.mkfifo(run.metrics)
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl is not a plain file"), run.lock():
        pytest.fail("it would block")
