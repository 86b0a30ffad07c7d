import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from selfplay.runner.keeper import Keeper, kill_group
from tests.scripts.commands import is_alive, wait_for

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")

# A child that leads a group, starts one of its own that would live on, and writes into its temporary folder.
CHILD = """
import os, subprocess, sys, tempfile, time
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
folder = tempfile.mkdtemp(prefix="mine")
os.mkfifo(folder + "/pipe")
print(grandchild.pid, folder, flush=True)
time.sleep(60)
"""


def start(keeper):
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        env=keeper.environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    keeper.watch(child.pid)
    pid, folder = child.stdout.readline().split()
    return child, int(pid), Path(folder)


def finish(child):
    child.kill()
    child.wait()
    child.stdout.close()


def test_closing_kills_the_whole_group_and_removes_its_files():
    keeper = Keeper()
    child, grandchild, folder = start(keeper)
    assert folder.parent == keeper.folder
    assert is_alive(grandchild)
    keeper.close()
    assert child.wait(10) == -signal.SIGKILL
    wait_for(lambda: not is_alive(grandchild))
    assert not keeper.folder.exists()
    keeper.close()  # once more does no harm
    finish(child)


def test_one_that_watched_nobody_only_removes_its_folder():
    keeper = Keeper()
    (keeper.folder / "something").write_text("")
    keeper.close()
    assert not keeper.folder.exists()


def test_where_the_shell_itself_was_killed_closing_still_removes_the_folder():
    keeper = Keeper()
    keeper._shell.kill()
    keeper._shell.wait()
    keeper.watch(os.getpid())  # nobody hears it
    keeper.close()
    assert not keeper.folder.exists()


def test_killing_a_group_that_is_gone_is_no_error():
    child = subprocess.Popen(["true"], start_new_session=True)
    child.wait()
    kill_group(child.pid)


def test_kill_9_of_this_process_leaves_neither_processes_nor_files():
    code = f"""
        import subprocess, sys, time
        from selfplay.runner.keeper import Keeper
        keeper = Keeper()
        child = subprocess.Popen(
            [sys.executable, "-c", {CHILD!r}], env=keeper.environment, start_new_session=True,
            stdout=subprocess.PIPE, text=True,
        )
        keeper.watch(child.pid)
        print(keeper._shell.pid, child.pid, child.stdout.readline().split()[0], keeper.folder, flush=True)
        time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as trainer:
        *pids, folder = trainer.stdout.readline().split()
        assert Path(folder).is_dir()
        trainer.kill()
    wait_for(lambda: not any(is_alive(int(pid)) for pid in pids))
    wait_for(lambda: not Path(folder).exists())


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_one_that_hunts_ends_what_runs_with_its_environment_wherever_it_went():
    keeper = Keeper(hunt=True)
    away = subprocess.Popen(["sleep", "60"], env=keeper.environment, start_new_session=True)
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    keeper.close()
    assert away.wait(10) == -signal.SIGKILL
    assert other.poll() is None
    other.kill()
    other.wait()
