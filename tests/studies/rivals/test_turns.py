"""Programs take turns: one goes on, the others stand still, and nothing is left of them."""

import sys
from pathlib import Path

import pytest

from scripts.studies.rivals.turns import Entry, parts, take_turns
from scripts.studies.rivals.venvs import PeerError, environment
from tests.studies.rivals.processes import alive, state
from tests.support.processes import Process, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

# Counts in a file for minutes, and has a child that does nothing else.
COUNTS = """
import subprocess, sys, time
if len(sys.argv) < 3:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
for n in range(1, 300_000):
    with open(sys.argv[1], "w") as file:
        file.write(str(n))
    time.sleep(0.001)
"""


def counted(path):
    text = path.read_text() if path.exists() else ""
    return int(text or 0)


class Watched:
    """Sleeps until the program that goes on has counted further, and the others have come to stand still."""

    def __init__(self, tmp_path):
        self.folder, self.pids, self.slept = tmp_path, [], []

    def entry(self, name, code=COUNTS):
        return Entry(
            name, [sys.executable, "-c", code, str(self.folder / name)], environment(None), self.folder / f"{name}.log"
        )

    def __call__(self, process, seconds):
        if process.pid not in self.pids:
            self.pids.append(process.pid)
        name = process.args[-1].rpartition("/")[2]
        before = counted(self.folder / name)
        while process.poll() is None and counted(self.folder / name) <= before:
            pass
        self.slept.append((name, seconds))
        others = [pid for pid in self.pids if pid != process.pid]
        wait_for(lambda: all(state(pid) == "T" for pid in others))  # a signal strikes who is at work


def test_one_goes_on_and_the_others_stand_still(tmp_path):
    watched, seen = Watched(tmp_path), []
    take_turns(
        [watched.entry("a"), watched.entry("b")],
        tmp_path,
        turn=60.0,
        marks=[30.0, 60.0, 100.0],
        at_mark=lambda name, mark: seen.append((name, mark)),
        sleep=watched,
    )
    assert watched.slept == [("a", 30.0), ("a", 30.0), ("b", 30.0), ("b", 30.0), ("a", 40.0), ("b", 40.0)]
    assert seen == [("a", 30.0), ("a", 60.0), ("b", 30.0), ("b", 60.0), ("a", 100.0), ("b", 100.0)]
    assert not any(Path(f"/proc/{pid}").exists() for pid in watched.pids)


def test_a_program_that_ends_is_quoted_and_the_others_are_ended(tmp_path):
    watched = Watched(tmp_path)
    entries = [watched.entry("a"), watched.entry("b", "raise SystemExit('error: no more games')")]
    with pytest.raises(PeerError, match="b ended early: error: no more games"):
        take_turns(entries, tmp_path, turn=1.0, marks=[2.0], at_mark=lambda *_: None, sleep=watched)
    assert not any(Path(f"/proc/{pid}").exists() for pid in watched.pids)


@pytest.mark.parametrize(
    ("turn", "marks", "expected"),
    [
        (60.0, [30.0, 60.0, 120.0], [[30.0, 60.0], [120.0]]),
        (60.0, [45.0, 90.0], [[45.0, 60.0], [90.0]]),
        (60.0, [6.0], [[6.0]]),
    ],
)
def test_turns_stop_at_marks(turn, marks, expected):
    assert parts(turn, marks) == expected


TURNS = """
import sys
from pathlib import Path
from scripts.studies.rivals.turns import Entry
from scripts.studies.rivals.turns import take_turns
from scripts.studies.rivals.venvs import environment
folder = Path(sys.argv[1])
entries = [Entry(n, [sys.executable, "-c", sys.argv[2], str(folder / n)], environment(None), folder / n) for n in "ab"]
take_turns(entries, folder, turn=600.0, marks=[600.0], at_mark=print)
"""


def test_nobody_stands_still_for_ever_when_the_race_is_killed(tmp_path):
    with Process([sys.executable, "-c", TURNS, str(tmp_path), COUNTS], env=environment(None)) as racing:
        wait_for(lambda: counted(tmp_path / "a"))
        wait_for(lambda: len(alive(f"{tmp_path}/")) >= 2)
        racing.kill()
        wait_for(lambda: not alive(f"{tmp_path}/"))
