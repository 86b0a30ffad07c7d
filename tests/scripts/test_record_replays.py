"""Recording games from the command line."""

import sys

import pytest

from selfplay_melee.commands import record as recording
from selfplay_melee.commands.cli import record
from selfplay_melee.replay import read_replay
from tests.run.policies import save
from tests.scripts.commands import mistake, run_process

SHORT = ("--max-episode-frames", 60)


@pytest.fixture
def trained(tmp_path):
    return save(tmp_path / "run", 0, 5)


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["selfplay record", *map(str, arguments)])
    return record.main()


def names(folder):
    """Players of all files, in the order of the games."""
    files = sorted(folder.glob("*.slp"), key=lambda path: path.stem[-5:])
    return [tuple(seat.name for seat in read_replay(path).seats) for path in files]


def test_players_of_both_kinds_meet_in_the_order_of_the_line(trained, tmp_path, monkeypatch, capsys):
    policy = recording.policy(str(trained.path)).id
    out = tmp_path / "my games (1)"
    players = ("--bot", "idle", "--policy", trained.path, "--bot", "random")
    assert call(monkeypatch, *players, "--games", 7, "--out", out, *SHORT) == 0
    expected = [("idle", policy), ("idle", "random"), (policy, "idle"), (policy, "random"), ("random", "idle")]
    assert names(out) == [*expected, ("random", policy), (policy, "idle")]
    progress, *summary = capsys.readouterr().out.splitlines()
    assert progress == "7 of 7 games, 420 frames"
    assert summary == [
        f"7 games in {out}: 7 written, 420 frames; 0 already there",
        f"  fox and fox on battlefield; players: idle, {policy}, random",
        f"next: selfplay imitate --replays '{out}' --epochs 10",
    ]


def test_opponents_are_met_from_both_seats(trained, tmp_path, monkeypatch, capsys):
    flags = ("--character", "mewtwo", "--opponent-character", "fox", "--stage", "dreamland", "--out", tmp_path / "a")
    opponents = ("--opponent", "idle", "--opponent", trained.path)
    assert call(monkeypatch, "--bot", "random", *opponents, "--games", 4, *flags, *SHORT) == 0
    policy = recording.policy(str(trained.path)).id
    assert names(tmp_path / "a") == [("random", "idle"), ("random", policy), ("idle", "random"), (policy, "random")]
    assert "mewtwo and fox on dreamland" in capsys.readouterr().out


def test_what_is_there_is_kept(tmp_path, monkeypatch, capsys):
    flags = ("--bot", "random", "--out", tmp_path / "a", *SHORT, "--games")
    assert call(monkeypatch, *flags, 3) == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "a").iterdir()}
    capsys.readouterr()
    assert call(monkeypatch, *flags, 5) == 0
    assert "2 written, 120 frames; 3 already there" in capsys.readouterr().out
    assert before.items() <= {path: path.stat().st_mtime_ns for path in (tmp_path / "a").iterdir()}.items()
    assert call(monkeypatch, *flags, 5) == 0
    assert "0 written, 0 frames; 5 already there" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "at least one player is needed, --bot or --policy (scripted: idle, random,"),
        (["--opponent", "idle"], "at least one player is needed"),
        (["--bot", "rushr"], "did you mean 'rusher'"),
        (["--policy", "nowhere/gen_1"], "nowhere/gen_1 holds no policy"),
        (["--bot", "idle", "--opponent", "rushr"], "did you mean 'rusher'"),
        (["--bot", "idle", "--games", "0"], "--games 0: at least 1"),
        (["--bot", "idle", "--stage", "battlefeld"], "did you mean 'battlefield'"),
        (["--bot", "idle", "--character", "foxx"], "did you mean 'fox'"),
        (["--bot", "idle", "--max-episode-frames", "0"], "--max-episode-frames 0: at least 1 is needed"),
        (["--bot", "idle", "--max-episode-frames", "-5"], "--max-episode-frames -5: at least 1 is needed"),
        (["--bot", "idle", "--out", __file__], "--out " + __file__ + ": "),
        (["--bots", "idle"], "unknown flag --bots: did you mean --bot?"),
    ],
)
def test_mistakes_are_one_clear_line(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    line = mistake(capsys, "selfplay record", lambda: call(monkeypatch, *arguments))
    assert words in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_it_runs_from_anywhere(tmp_path):
    done = run_process("record", "--bot", "random", "--games", 1, *SHORT, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(names(tmp_path / "replays")) == 1
