import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.format import dtype_to_descr

from selfplay.errors import RunnerError
from selfplay.games.errors import GameError
from selfplay.runner import PROCESS_MB
from selfplay.runner.game_process import ALIGN, layout, map_arrays, parse_dtype, size_of
from selfplay.runner.process_game import LINE_BYTES, ProcessGame
from selfplay_melee.controller import ACTION_SPEC, HIGHEST
from selfplay_melee.mock import STATS, MockMelee, neutral_actions
from tests.scripts.commands import is_alive, wait_for
from tests.support.cases import first_alone
from tests.support.processes import LIMIT_S, Process

ROOT = Path(__file__).parents[2]
OPTIONS = {
    "num_games": 3,
    "characters": ["mewtwo", "fox"],
    "stage": "battlefield",
    "frame_skip": 2,
    "delay": 3,
    "max_episode_frames": 40,
    "stagger": True,
}
FIRST = np.zeros((3, 2, 1), np.int8)  # everybody's first action of such games
SMALL = {"num_games": 3}  # options of a game that loads no compiled rules
SEEDS = np.array([3, 2**63 + 5, 7], np.uint64)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")


@pytest.fixture(scope="module")
def shared():
    game = ProcessGame("mock", OPTIONS)
    yield game
    game.close()


@pytest.fixture
def game():
    """A child that starts soon, where it does not matter what it plays."""
    made = ProcessGame("rps", SMALL)
    yield made
    made.close()
    assert not is_alive(made.pid)


def play(games, rng, steps):
    """Step games side by side with the same actions and compare everything that comes out."""
    episodes = 0
    for _ in range(steps):
        actions = rng.integers(0, HIGHEST + 1, (3, 2, len(HIGHEST))).astype(np.int8)
        mine, theirs = (game.step(actions) for game in games)
        ended = mine.ended
        for name in ("obs", "reward", "terminated", "truncated"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name), err_msg=name)
        for name in ("score", "stats", "final_obs"):  # say something of episodes that ended alone
            np.testing.assert_array_equal(getattr(mine, name)[ended], getattr(theirs, name)[ended], err_msg=name)
        episodes += int(ended.sum())
    return episodes


def test_it_plays_as_the_game_in_this_process(shared):
    games = MockMelee(**OPTIONS), shared
    rng = np.random.default_rng(0)
    assert games[0].bot_names == shared.bot_names
    assert games[0].obs_width == shared.obs_width
    np.testing.assert_array_equal(*(game.reset(SEEDS) for game in games))
    for game in games:
        game.bots[1] = [-1, 1]  # a scripted player in one seat
    assert play(games, rng, 60) > 6
    before = [game.snapshot() for game in games]
    assert before[0].keys() == before[1].keys()
    for name, array in before[0].items():
        assert array.dtype == before[1][name].dtype
        np.testing.assert_array_equal(array, before[1][name], err_msg=name)
    play(games, rng, 5)
    np.testing.assert_array_equal(*(game.restore(before[0]) for game in games))
    np.testing.assert_array_equal(shared.bots, games[0].bots)
    assert play(games, rng, 20) > 0


def test_a_snapshot_moves_between_the_hosts(shared):
    shared.reset(SEEDS)
    shared.step(neutral_actions(3))
    other = MockMelee(**OPTIONS)
    other.restore(shared.snapshot())
    play((other, shared), np.random.default_rng(1), 5)


def test_what_the_game_refuses_is_a_game_error_and_does_not_end_it(shared):
    shared.reset(SEEDS)
    bad = neutral_actions(3)
    bad[1, 0, 8] = 99
    with pytest.raises(GameError, match=r"game 1, seat 0: main_x is 99"):
        shared.step(bad)
    with pytest.raises(GameError, match="snapshot"):
        shared.restore({"nothing": np.zeros(1)})
    shared.step(neutral_actions(3))


def test_the_child_loads_no_torch(shared):
    maps = Path(f"/proc/{shared.pid}/maps").read_text()
    assert "numpy" in maps
    assert "torch" not in maps


def test_its_file_has_no_name(shared):
    mapped = [line for line in Path(f"/proc/{shared.pid}/maps").read_text().splitlines() if "/dev/shm/" in line]
    assert mapped  # in memory
    assert all(line.endswith("(deleted)") for line in mapped)  # and gone with the last process that uses it


@pytest.mark.parametrize(
    ("name", "change", "words"),
    first_alone(
        [
            ("mock", {"stage": "hyrule_temple"}, "unknown stage 'hyrule_temple'"),
            ("chess", {}, "unknown game 'chess'"),
        ]
    ),
)
def test_bad_options_are_told_and_leave_nothing(name, change, words):  # no process: that is seen to for every test
    with pytest.raises(GameError, match=words):
        ProcessGame(name, OPTIONS | change)


def test_a_killed_child_is_an_error_at_once_and_for_ever(game):
    game.reset(SEEDS)
    os.kill(game.pid, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(RunnerError, match=f"game process {game.pid}"):
            game.step(FIRST)
    with pytest.raises(RunnerError):
        game.snapshot()


def test_kill_ends_a_call_that_hangs(game):
    game.reset(SEEDS)
    os.kill(game.pid, signal.SIGSTOP)
    failed = []

    def step():
        try:
            game.step(FIRST)
        except RunnerError as error:
            failed.append(str(error))

    thread = threading.Thread(target=step)
    thread.start()
    assert game.kill()
    thread.join(LIMIT_S)
    assert failed == [f"game process {game.pid} ended with exit code -9 in the middle of a segment"]


def test_closing_kills_what_does_not_listen(game):
    os.kill(game.pid, signal.SIGSTOP)
    game.close()
    assert not is_alive(game.pid)


@pytest.mark.parametrize("stopped", first_alone([True, False]), ids=["hanging", "idle"])
def test_a_trainer_that_is_killed_leaves_no_orphan(stopped):
    code = f"""
        import time
        from selfplay.runner.process_game import ProcessGame
        game = ProcessGame("rps", {SMALL!r})
        print(game.pid, flush=True)
        time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with Process(command, cwd=ROOT, stdout=subprocess.PIPE) as trainer:
        pid = int(trainer.stdout.readline())
        assert is_alive(pid)
        if stopped:
            os.kill(pid, signal.SIGSTOP)
        trainer.kill()
        wait_for(lambda: not is_alive(pid))


def test_types_travel_as_json():
    for dtype in (STATS, np.dtype(np.float32), np.dtype([("inner", STATS), ("flag", np.bool_)])):
        assert parse_dtype(json.loads(json.dumps(dtype_to_descr(dtype)))) == dtype
    with pytest.raises(ValueError, match="references"):
        parse_dtype(dtype_to_descr(np.dtype([("object", object)])))
    with pytest.raises(ValueError, match="no type of an array"):
        parse_dtype(",")


def writer_of(game):
    """A second writer of the pipe that the child answers through."""
    return open(f"/proc/self/fd/{game._process.stdout.fileno()}", "wb", 0)


@pytest.mark.parametrize("line", first_alone([b"1 {}", b"{}", b"0 {}", b'{"notes": []}']))
def test_an_old_or_stray_answer_is_not_the_answer_of_a_child_that_hangs(game, line):
    game.reset(SEEDS)
    os.kill(game.pid, signal.SIGSTOP)
    with writer_of(game) as stray:
        stray.write(line + b"\n")
    with pytest.raises(RunnerError, match=r"expected to answer command 3, but said b'(.*)\\n'") as told:
        game.step(FIRST)
    assert line.decode() in str(told.value)
    os.kill(game.pid, signal.SIGCONT)  # its own answers now come one too late
    with pytest.raises(RunnerError, match="expected to answer command 4, but said b'3 "):
        game.step(FIRST)


GARBAGE = {
    "not UTF-8": b"\xff\xfe\x00",
    "not JSON": b"hello",
    "a list": b"[]",
    "a number": b"7",
    "null": b"null",
    "notes of another type": b'{"notes": 5}',
    "an error of another type": b'{"error": ["bad"]}',
    "an unknown field": b'{"obs": [1.0]}',
    "nested too deep": b"[" * 5000,
    "nothing": b"",
}


@pytest.mark.parametrize("body", first_alone(GARBAGE.values()), ids=GARBAGE)
def test_what_is_no_answer_is_an_error_of_the_runner_that_quotes_it(game, body):
    game.reset(SEEDS)
    os.kill(game.pid, signal.SIGSTOP)
    with writer_of(game) as stray:
        stray.write(b"3 " + body + b"\n")
    with pytest.raises(RunnerError, match=r"expected to answer command 3, but said b'3 ") as told:
        game.step(FIRST)
    assert repr(body[:40])[2:-1] in str(told.value)
    assert len(str(told.value)) < 500


@pytest.mark.parametrize("start", first_alone([b"3 {", b""]))
def test_an_endless_answer_is_refused_at_the_bound(game, start):
    game.reset(SEEDS)
    os.kill(game.pid, signal.SIGSTOP)
    stray, wanted = writer_of(game), 16 * LINE_BYTES
    written = 0

    def flood():
        nonlocal written
        with stray, suppress(BrokenPipeError):
            while written < wanted:
                written += stray.write((start if written == 0 else b"") + b"x" * 4096)
            stray.write(b"\n")

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        with pytest.raises(RunnerError, match=r"b'(3 \{)?xxx"):
            game.step(FIRST)
        assert written < 2 * LINE_BYTES  # the rest was not read
    finally:
        game.close()  # the last reader of the pipe
        thread.join(LIMIT_S)


@pytest.mark.parametrize(
    "change",
    first_alone(
        [{"stats": "|O"}, {"stats": "no type"}, {"stats": 5}, {"obs_width": 1 << 40}, {"obs_width": "9"}, {"bots": [1]}]
    ),
    ids=str,
)
def test_games_that_cannot_be_are_an_error_of_the_runner(monkeypatch, change):
    understand = ProcessGame._understand

    def altered(self, line, number):
        document = json.loads(line.removeprefix(number))
        document["hello"] |= change
        return understand(self, number + json.dumps(document).encode() + b"\n", number)

    monkeypatch.setattr(ProcessGame, "_understand", altered)
    with pytest.raises(RunnerError, match=r"was expected to answer command 1|has games that cannot be"):
        ProcessGame("rps", SMALL)


def test_the_child_has_a_limit_to_its_memory_and_is_the_first_to_be_killed_for_the_system_s(shared):
    assert resource.prlimit(shared.pid, resource.RLIMIT_DATA)[0] == PROCESS_MB << 20
    assert Path(f"/proc/{shared.pid}/oom_score_adj").read_text() == "1000\n"
    with closing(ProcessGame("rps", SMALL, process_mb=0)) as unlimited:
        assert resource.prlimit(unlimited.pid, resource.RLIMIT_DATA) == resource.getrlimit(resource.RLIMIT_DATA)


def test_a_child_that_outgrows_its_limit_says_so():
    with pytest.raises(MemoryError, match=r"^game process \d+ failed: out of memory: Unable to allocate .{,99}$"):
        ProcessGame("mock", OPTIONS | {"num_games": 400_000}, process_mb=256)


def test_both_ends_see_the_same_arrays_and_no_two_overlap(tmp_path):
    fields = layout((3, 2), 7, ACTION_SPEC, STATS)
    with (tmp_path / "block").open("w+b") as file:
        file.truncate(size_of(fields))
        mine, theirs = map_arrays(file.fileno(), fields), map_arrays(file.fileno(), fields)
    for number, array in enumerate(mine.values()):
        array.view(np.uint8)[...] = number
        assert array.ctypes.data % ALIGN == 0
    for number, array in enumerate(theirs.values()):
        assert (array.view(np.uint8) == number).all()
