import json
import os
import re
import sys
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from rich.console import Console

from selfplay.checkpoint import RunDir
from selfplay.commands.cli import tree
from selfplay.report.tree_status import ChildStatus, Crash, TreeStatus
from selfplay.run.monitoring.crash_file import append_crash
from tests.scripts.commands import ROOT, mistake
from tests.support.processes import finish

BEGAN = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
CLOCK = r"\d\d:\d\d:\d\d"


def row(path, state="running", **values):
    kind = "supervisor" if path in ("root", "root/runners") else "worker"
    return ChildStatus(id=path, kind=kind, state=state, **{"incarnation": 1, "restarts": 0, "since": BEGAN, **values})


ROWS = (
    row("root"),
    row("root/runners"),
    row("root/learner", "restarting", restarts=1, crash="error: OSError: no disc", down_s=2.04),
    row("root/runners/runner-000", "parked", incarnation=12, restarts=11, until=BEGAN + timedelta(seconds=8)),
    row("root/runners/runner-001", "abandoned", abandoned=2),
)


def crash(number, **values):
    return Crash(
        **{
            "time": BEGAN + timedelta(seconds=number), "id": "root/learner", "incarnation": number, "kind": "error",
            "started": True, "restarts": 0, "lived_s": 2.5, "message": f"OSError: no disc {number}",
            "first_cause": "KeyError: 'disc'", "file": "loop.py", "line": 7, "function": "run",
            "traceback": "Traceback\n  line one\n  line two", **values,
        }
    )  # fmt: skip


@pytest.fixture
def run(tmp_path):
    made = RunDir(tmp_path / "checkpoints" / "mine")
    made.write_run({"seed": 1})
    return made


def write(run, rows=ROWS, **values):
    usual = {"written": BEGAN + timedelta(seconds=9), "began": BEGAN, "pid": 77}
    document = TreeStatus(rows=rows, **usual | values)
    run.tree_json.write_text(document.model_dump_json())


@pytest.fixture
def call(monkeypatch, capsys):
    def show(*arguments):
        monkeypatch.setattr(sys, "argv", ["selfplay tree", *map(str, arguments)])
        code = tree.main()
        told = capsys.readouterr()
        assert code == 0, told.err
        return told.out

    return show


def test_a_tree_with_everything_in_it(run, call):
    write(run, crashes=3, hanging=1, unwritten=2)
    for number in (1, 2, 3):
        append_crash(run.crashes, crash(number))
    lines = call(run.path).splitlines()
    assert re.fullmatch(rf".*mine: the trainer was killed; the last state is of 2026-01-01 {CLOCK}", lines[0])
    drawn = [re.sub(CLOCK, "T", line) for line in lines[1:7]]
    assert drawn == [
        "root  running since T, incarnation 1",
        "├── runners  running since T, incarnation 1",
        "│   ├── runner-000  parked until T since T, incarnation 12, 11 restarts",
        "│   └── runner-001  abandoned since T, incarnation 1, 2 abandoned and still running",
        "└── learner  restarting since T, incarnation 1, 1 restart, down for 2.0 s before the last; "
        "last crash: error: OSError: no disc",
        "3 crashes in this session; 1 thread left hanging; 2 crash reports not written",
    ]
    assert [re.search(r"no disc \d", line)[0] for line in lines[7:]] == ["no disc 3", "no disc 2", "no disc 1"]
    assert lines[7].endswith(
        "root/learner #3  error after 2.5 s: OSError: no disc 3; first cause: KeyError: 'disc'  [loop.py:7 run]"
    )
    assert "line one" not in "\n".join(lines)


def test_where_a_child_hangs_is_drawn_under_it(run, call):
    stack = "incarnation 1, abandoned:\nrunner (a.py, line 7)\nplay\x1b[2J (b.py, line 9)"
    write(run, (row("root"), row("root/learner", "abandoned", abandoned=1, stack=stack), row("root/rater", "stopping")))
    lines = [re.sub(CLOCK, "T", line.rstrip()) for line in call(run.path).splitlines()[1:7]]
    assert lines[1:] == [
        "├── learner  abandoned since T, incarnation 1, 1 abandoned and still running",
        "│     incarnation 1, abandoned:",
        "│     runner (a.py, line 7)",
        "│     play?[2J (b.py, line 9)",
        "└── rater  stopping since T, incarnation 1",
    ]


def test_what_lies_below_is_drawn_below_in_whatever_order_it_was_written(run, call):
    write(run)
    before = call(run.path).splitlines()[1:6]
    write(run, (*ROWS[3:], *ROWS[:3]))
    assert call(run.path).splitlines()[1:6] == before


def test_whole_reports_as_many_as_asked_for(run, call):
    write(run)
    for number in (1, 2, 3):
        append_crash(run.crashes, crash(number, at_s=None if number == 3 else 12.34))
    text = call(run.path, "--crashes", 2)
    assert text.count("restarts before it: 0; 12.3 s after the session began\n") == 1
    assert text.count("restarts before it: 0\n") == 1
    assert text.count("  Traceback\n    line one\n    line two\n") == 2
    assert "no disc 1" not in text


def test_as_json(run, call):
    write(run, ended="finished")
    append_crash(run.crashes, crash(1))
    found = json.loads(call(run.path, "--json"))
    assert found["trainer"] is None
    assert found["fate"].startswith("finished; it ended at 2026-01-01 ")
    assert [row["id"] for row in found["standing"]["rows"]] == [row.id for row in ROWS]
    assert [each["incarnation"] for each in found["crashes"]] == [1]


def test_a_trainer_that_is_at_work_is_named(run, call):
    write(run, pid=os.getpid())
    with run.lock():
        assert f"a trainer (process {os.getpid()}) is at work; the state is of 2026-01-01" in call(run.path)
    assert "the trainer was killed; the last state is of" in call(run.path)
    with run.lock():  # somebody who looks does not keep a trainer out
        write(run, pid=os.getpid() + 1)
        assert f"(process {os.getpid()}) has only begun; the state is of the session before it" in call(run.path)


def test_how_it_ended(run, call):
    write(run, ended="interrupted")
    run.write_summary({"iteration": 12})
    assert "interrupted after 12 iterations; it ended at 2026-01-01" in call(run.path)
    write(run, ended="failed: no disc")
    run.summary_json.unlink()
    assert "failed: no disc; it ended at 2026-01-01" in call(run.path)
    append_crash(run.crashes, crash(5, kind="blocked", message="The event loop was blocked for 60 s by f"))
    write(run)
    assert "The event loop was blocked for 60 s by f; it ended at 2026-01-01" in call(run.path)
    write(run, began=BEGAN + timedelta(seconds=6))  # that was another session
    assert "the trainer was killed" in call(run.path)


def test_the_newest_run_where_none_is_named(run, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(run)
    assert call().startswith("checkpoints/mine: ")
    assert call("mine").startswith("checkpoints/mine: ")


def test_what_a_stranger_wrote_reaches_no_terminal_as_it_is(run, call):
    evil = "\x1b]0;owned\x07\u202eroot\n[red]"
    rows = (row("root"), row(f"root/{evil}", crash=evil), row("a/" * 400), row("root/" + "b/" * 400))
    write(run, rows, ended=evil)
    append_crash(
        run.crashes, crash(1, id=evil, message=evil, first_cause=evil, traceback=f"{evil}\n\x1b[2J", file=evil)
    )
    for arguments in ((), ("--crashes", 1)):
        text = call(run.path, *arguments)
        assert call(run.path, "--json").isascii()
        assert not set(text) & set("\x1b\x07\u202e")
        assert "?]0;owned??root [red]" in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "tree.json is not a JSON document"),
        ("[]", "expected a JSON object"),
        ('{"format_version": 2}', "tree.json: "),
        ('{"\\u001b[2J": 2}', "tree.json: "),
        ('{"format_version": 1, "written": "9999-12-31T23:59:59-12:00", "began": "x", "pid": -1}', "tree.json: "),
        (" " * (9 * 2**20), "the limit is"),
    ],
)
def test_a_file_that_is_none_is_one_line(run, monkeypatch, capsys, content, words):
    run.tree_json.write_text(content)
    monkeypatch.setattr(sys, "argv", ["selfplay tree", str(run.path)])
    line = mistake(capsys, "selfplay tree", tree.main)
    assert words in line
    assert "\x1b" not in line


def test_mistakes_are_one_line(run, monkeypatch, capsys):
    for arguments, words in (
        ([str(run.path)], "has no tree.json: it has only begun"),
        (["nowhere"], "nowhere holds no run"),
        ([str(run.path), "--watch"], "--watch needs a terminal"),
    ):
        monkeypatch.setattr(sys, "argv", ["selfplay tree", *arguments])
        assert words in mistake(capsys, "selfplay tree", tree.main)


def test_it_is_watched_until_the_trainer_has_ended(run):
    write(run, pid=os.getpid())
    screen, rounds = StringIO(), []
    console = Console(file=screen, force_terminal=True, width=120)
    lock = run.lock()
    lock.__enter__()

    def sleep(seconds):
        rounds.append(seconds)
        if len(rounds) == 2:
            write(run, rows=(*ROWS, row("root/late")), pid=os.getpid())
        if len(rounds) == 3:
            write(run, ended="finished")
            lock.__exit__(None, None, None)

    tree.watch(run, console, None, sleep)
    assert rounds == [tree.EVERY_S] * 3
    assert "late" in screen.getvalue()
    assert "finished; it ended at" in screen.getvalue()


def test_it_needs_no_torch():
    code = (
        "import sys; sys.argv = ['selfplay tree', 'nowhere']; from selfplay.commands.cli import tree; tree.main(); "
        "print('torch' in sys.modules)"
    )
    done = finish([sys.executable, "-c", code], cwd=ROOT, check=True)
    assert done.stdout == "False\n"
    assert "nowhere holds no run" in done.stderr
