"""Programs take turns: one goes on, the others stand still, and nothing is left of them."""

import sys
from pathlib import Path

import pytest

from selfplay.peers.turns import Entry, parts, take_turns
from selfplay.peers.venvs import PeerError, environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

# Counts in a file for ever, and has a child that does nothing else.
COUNTS = """
import subprocess, sys, time
if len(sys.argv) < 3:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
n = 0
while True:
    n += 1
    with open(sys.argv[1], "w") as file:
        file.write(str(n))
    time.sleep(0.001)
"""


def state(pid):
    """Letter of a process: R or S while it goes on, T while it stands still."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def counted(path):
    text = path.read_text() if path.exists() else ""
    return int(text or 0)


class Watched:
    """Sleeps until the program that goes on has counted further, and sees who stands still meanwhile."""

    def __init__(self, tmp_path):
        self.folder, self.pids, self.slept, self.still = tmp_path, [], [], []

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
        self.still.append([state(pid) for pid in self.pids if pid != process.pid])


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
    assert {letter for letters in watched.still for letter in letters} == {"T"}
    assert not any(Path(f"/proc/{pid}").exists() for pid in watched.pids)


def test_a_program_that_ends_is_quoted_and_the_others_are_ended(tmp_path):
    watched = Watched(tmp_path)
    entries = [watched.entry("a"), watched.entry("b", "raise SystemExit('error: no more games')")]
    with pytest.raises(PeerError, match="b ended before its time: error: no more games"):
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
