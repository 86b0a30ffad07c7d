import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from selfplay.runner import process_reaper as keeping
from selfplay.runner.process_reaper import ProcessReaper, kill_group
from tests.scripts.commands import is_alive, wait_for
from tests.support.processes import LIMIT_S, Process

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")

# A child that leads a group, starts one of its own that would live on, and writes into its temporary folder.
CHILD = """
import os, subprocess, sys, tempfile, time
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
folder = tempfile.mkdtemp(prefix="mine")
os.mkfifo(folder + "/pipe")
print(grandchild.pid, folder, flush=True)
time.sleep(600)
"""


def start(reaper):
    child = Process([sys.executable, "-c", CHILD], env=reaper.environment, stdout=subprocess.PIPE)
    reaper.watch(child.pid)
    pid, folder = child.stdout.readline().split()
    return child, int(pid), Path(folder)


def can_be_found(process, reaper):
    """Wait until the system shows the environment of a process that has just been started."""
    wait_for(lambda: str(reaper.folder) in Path(f"/proc/{process.pid}/environ").read_text())


def test_closing_kills_the_whole_group_and_removes_its_files():
    reaper = ProcessReaper()
    child, grandchild, folder = start(reaper)
    with child:
        assert folder.parent == reaper.folder
        assert is_alive(grandchild)
        reaper.close()
        assert child.wait() == -signal.SIGKILL
        wait_for(lambda: not is_alive(grandchild))
        assert not reaper.folder.exists()
        reaper.close()  # once more does no harm


def test_one_that_watched_nobody_only_removes_its_folder():
    reaper = ProcessReaper()
    (reaper.folder / "something").write_text("")
    reaper.close()
    assert not reaper.folder.exists()


def test_where_the_shell_itself_was_killed_closing_still_removes_the_folder():
    reaper = ProcessReaper()
    reaper._shell.kill()
    reaper._shell.wait(LIMIT_S)
    reaper.watch(os.getpid())  # nobody hears it
    reaper.close()
    assert not reaper.folder.exists()


def test_killing_a_group_that_is_gone_is_no_error():
    with Process(["true"]) as child:
        child.wait()
        kill_group(child.pid)


def test_kill_9_of_this_process_leaves_neither_processes_nor_files():
    code = f"""
        import subprocess, sys, time
        from selfplay.runner.process_reaper import ProcessReaper
        reaper = ProcessReaper()
        child = subprocess.Popen(
            [sys.executable, "-c", {CHILD!r}], env=reaper.environment, start_new_session=True,
            stdout=subprocess.PIPE, text=True,
        )
        reaper.watch(child.pid)
        print(reaper._shell.pid, child.pid, child.stdout.readline().split()[0], reaper.folder, flush=True)
        time.sleep(600)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with Process(command, cwd=ROOT, stdout=subprocess.PIPE) as trainer:
        *pids, folder = trainer.stdout.readline().split()
        assert Path(folder).is_dir()
        trainer.kill()
        wait_for(lambda: not any(is_alive(int(pid)) for pid in pids))
        wait_for(lambda: not Path(folder).exists())


def test_what_a_killed_process_and_its_killed_shell_left_is_removed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = f"""
        import sys, subprocess, tempfile, time
        from selfplay.runner.process_reaper import ProcessReaper
        tempfile.tempdir = {str(tmp_path)!r}
        reaper = ProcessReaper()
        child = subprocess.Popen(["sleep", "600"], env=reaper.environment, start_new_session=True)
        reaper.watch(child.pid)
        print(reaper._shell.pid, child.pid, reaper.folder, flush=True)
        time.sleep(600)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    unknown = tmp_path / "selfplay-unknown"
    unknown.mkdir()  # of an owner who has not got so far, or of another program
    (tmp_path / "selfplay-link").symlink_to(unknown)
    with Process(command, cwd=ROOT, stdout=subprocess.PIPE) as trainer:
        shell, child, name = trainer.stdout.readline().split()
        folder = Path(name)
        ProcessReaper().close()
        assert folder.is_dir()  # its owner lives
        os.kill(int(shell), signal.SIGSTOP)
        trainer.kill()
        trainer.wait()
        ProcessReaper().close()
        assert folder.is_dir()  # its shell lives, and will remove it
        os.kill(int(shell), signal.SIGKILL)
        wait_for(lambda: not is_alive(int(shell)))
        ProcessReaper().close()
        assert not folder.exists()
        wait_for(lambda: not is_alive(int(child)))
    assert unknown.is_dir()


def test_one_that_hunts_ends_what_runs_with_its_environment_wherever_it_went():
    reaper = ProcessReaper(by_environment=True)
    with Process(["sleep", "600"], env=reaper.environment) as away, Process(["sleep", "600"]) as other:
        can_be_found(away, reaper)
        reaper.close()
        assert away.wait() == -signal.SIGKILL
        assert other.poll() is None


def test_a_hunt_also_ends_what_has_lost_its_variable_and_names_the_folder_in_another():
    """Agents of Ray write a title over theirs."""
    reaper = ProcessReaper(by_environment=True)
    environment = {**os.environ, "RAY_AUTH_TOKEN_PATH": str(reaper.folder / "token")}
    with Process(["sleep", "600"], env=environment) as agent:
        can_be_found(agent, reaper)
        reaper.close()
        assert agent.wait() == -signal.SIGKILL


def test_a_hunt_starts_no_program_for_each_process_of_the_machine(tmp_path, monkeypatch):
    calls, grep = tmp_path / "calls", tmp_path / "grep"
    grep.write_text(f'#!/bin/sh\necho call >>{calls}\nexec {shutil.which("grep")} "$@"\n')
    grep.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    ProcessReaper(by_environment=True).close()
    assert calls.read_text() == "call\n"


def test_a_folder_that_cannot_be_locked_is_removed(tmp_path, monkeypatch):
    def fail(folder):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(keeping, "_locked", fail)
    with pytest.raises(OSError, match="No space"):
        ProcessReaper()
    assert not list(tmp_path.iterdir())
