"""The bridge on another emulator than the project's own, with the freedoms that builds are known or feared to take.

Each case: the first game, two hundred frames in lock step, its end, and the next game.
"""

import json
import shlex
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from selfplay_melee.controller import MAIN_X, NEUTRAL
from selfplay_melee.errors import DolphinError

pytest.importorskip("melee", reason="libmelee drives Dolphin")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the emulator of this test reads named pipes"),
    pytest.mark.full,
]
psutil = pytest.importorskip("psutil")
from selfplay_melee.dolphin import match  # noqa: E402
from selfplay_melee.dolphin.game import DolphinMelee  # noqa: E402
from selfplay_melee.dolphin.lock_step import count_down  # noqa: E402
from tests.melee.dolphin.emulators import PORT  # noqa: E402
from tests.scripts.commands import is_alive, wait_for  # noqa: E402

PROGRAM = Path(__file__).with_name("other_dolphin.py")
CAP = 200  # frames of an episode that is cut short
RIGHT = 16


@pytest.fixture
def make(tmp_path, scratch):
    """Makes a game on an emulator with some choices; nothing of it may be left behind."""
    iso = tmp_path / "disc.iso"
    iso.write_bytes(b"x")
    made = []

    def make(options=(), start="exec ", **choices):
        words = shlex.join([sys.executable, str(PROGRAM), json.dumps(choices)])
        program = tmp_path / "dolphin"
        program.write_text(f'#!/bin/sh\n{start}{words} "$@"\n')
        program.chmod(0o755)
        options = {"characters": ("fox", "marth"), "stage": "battlefield", "max_episode_frames": CAP, **dict(options)}
        made.append(DolphinMelee(dolphin=str(program), iso=str(iso), slippi_port=PORT, **options))
        return made[-1]

    yield make
    for game in made:
        game.close()
    assert list(scratch.iterdir()) == []


def emulator_of(game):
    return game._dolphin.emulator


def pid_of(game):
    return emulator_of(game).console._process.pid


def action(*seats):
    """Main sticks of both seats, -1 to 1 eighths, as each seat sees it."""
    actions = np.broadcast_to(NEUTRAL, (1, 2, len(NEUTRAL))).copy()
    actions[0, :, MAIN_X] = seats
    return actions


def start(game):
    obs = game.reset(np.array([1], np.uint64))
    assert np.isfinite(obs).all()
    assert game.state.game["frame"][0] == 0
    assert (game.state.players["stocks"] == 4).all()


def in_step(game, frames=CAP - 1, seats=(0, 1)):
    """Play random inputs; each must be that of the next frame, and no frame may be missing."""
    rng = np.random.default_rng(0)
    for _ in range(frames):
        sticks = rng.integers(0, 17, 2)
        frame, mirrored = int(game.state.game["frame"][0]), game._games.mirrored[0].copy()
        batch = game.step(action(*sticks))
        assert not batch.ended[0]
        assert game.state.game["frame"][0] == frame + 1
        for seat in seats:
            wanted = (int(sticks[seat]) - 8) / 8 * (-1 if mirrored[seat] else 1)
            got = game.state.controllers["main_x"][0, seat]
            assert got == pytest.approx(wanted if abs(wanted) >= 23 / 80 else 0.0, abs=1e-6), (frame, seat)


def cap(game):
    """One more step: the episode is cut short, the next game is there."""
    batch = game.step(action(8, 8))
    assert batch.truncated[0]
    assert not batch.terminated[0]
    assert game.state.game["frame"][0] == 0
    assert (game.state.players["stocks"] == 4).all()


BUILDS = {
    "plain": {},
    "the start takes no input": {"start_flushes": 0},
    "the start takes two inputs": {"start_flushes": 2},
    "three frames need no input": {"free_frames": 3, "start_flushes": 0},
    "the countdown shows no inputs": {"shows_countdown": False},
    "no inputs shown, some are left over": {"shows_countdown": False, "start_flushes": 0, "free_frames": 2},
    "start and first frame in one message": {"one_message": True},
    "a list of codes": {"gecko": True, "one_message": True},
    "items": {"items": True},
    "events before and after a frame apart": {"cut": True, "gecko": True},
    "other kinds of messages": {"chatter": True},
    "a screen of no known number": {"after_end": 30},
    "menus as events of a game": {"menu_in_game": True},
    "no results": {"results": None},
    "frames go on in a pause": {"pause": "running"},
    "inputs are read by the clock in a pause": {"pause": "clocked"},
    "no pause is needed to quit": {"pause": "bare"},
    "late banner": {"banner": 90},
    "slow cursor": {"speed": 0.6},
    "fast cursor": {"speed": 2.0},
    "cursors in a corner": {"cursor": [-27.0, 20.0]},
    "title screen": {"title": True},
    "screens do not begin at frame 0": {"first_number": 731},
    "every other frame of a menu": {"number_step": 2},
    "stages are deaf at first": {"deaf": 80},
    "oldest version": {"version": [3, 8, 0]},
    "version without the Fountain's platforms": {"version": [3, 16, 0]},
    "unknown bytes at the end of events": {"version": [3, 19, 0], "longer": 9},
    "pipes before the port": {"pipes": "early"},
    "talks a lot": {"noise": 1 << 20},
    "answers as mainline": {"answer": ["mainline 4.0.0-beta", "", 0]},
    "answers as Ishiiruka": {"answer": ["Faster Melee - Slippi (3.4.0)", "", 255]},
    "answers as ExiAI": {"answer": ["", "Faster Melee - Slippi (3.4.0) - ExiAI", 1], "leaves": True},
    "silent inputs between games": {"silent_flushes": 20},
    "one input of all that waits": {"merges": True, "silent_flushes": 20},
    "silence as it boots": {"boot_s": 1.5, "title": True},
}


OFTEN = (  # the others are for ``-m slow``
    "the start takes no input",
    "no inputs shown, some are left over",
    "start and first frame in one message",
    "frames go on in a pause",
    "stages are deaf at first",
    "unknown bytes at the end of events",
    "pipes before the port",
    "silent inputs between games",
)


@pytest.mark.parametrize(
    "build", [pytest.param(name, marks=() if name in OFTEN else pytest.mark.slow) for name in BUILDS]
)
def test_first_game_lock_step_and_next_game(make, build):
    game = make(**BUILDS[build])
    start(game)
    pid = pid_of(game)
    in_step(game)
    cap(game)
    in_step(game, 20)
    assert pid_of(game) == pid


@pytest.mark.slow
@pytest.mark.parametrize(
    "build",
    [
        {},
        {"results": None, "chatter": True},
        {"results": "again"},
        {"after_end": 20, "silent_flushes": 30},
        {"menu_in_game": True, "start_flushes": 0},
        {"cut": True, "one_message": True, "results": 0},
    ],
    ids=str,
)
def test_a_game_to_its_last_stock(make, build):
    game = make({"max_episode_frames": 3000}, **build)
    start(game)
    pid = pid_of(game)
    for _ in range(1000):
        side = RIGHT if not game._games.mirrored[0, 1] else 0
        batch = game.step(action(8, side))
        if batch.ended[0]:
            break
    assert batch.terminated[0]
    np.testing.assert_array_equal(batch.score[0], [1.0, 0.0])
    assert game.state.game["frame"][0] == 0
    assert (game.state.players["stocks"] == 4).all()
    in_step(game, 50)
    assert pid_of(game) == pid


@pytest.mark.slow
@pytest.mark.parametrize(
    "slow", [{"loading_s": 3.0}, {"boot_s": 3.0}, {"quit_s": 3.0}, {"loading_s": 3.0, "start_flushes": 0}], ids=str
)
def test_loading_is_no_hang(make, slow):
    game = make({"frame_timeout_s": 1.0}, **slow)
    start(game)
    pid = pid_of(game)
    in_step(game)
    cap(game)
    in_step(game, 20)
    assert pid_of(game) == pid


def test_a_game_that_cannot_be_quit_costs_the_emulator(make):
    game = make(pause="none")
    start(game)
    pid = pid_of(game)
    in_step(game)
    cap(game)
    assert pid_of(game) != pid
    assert not is_alive(pid)
    in_step(game, 20)


def test_a_game_that_begins_by_itself_is_left_where_another_is_wanted(make):
    game = make(results="again")
    start(game)
    pid = pid_of(game)
    game.bots[0, 1] = game.bot_names.index("cpu_4")
    in_step(game, seats=(0,))
    cap(game)
    assert pid_of(game) != pid
    assert emulator_of(game).reader.start.ports[1].kind == 1


@pytest.mark.parametrize(("latency", "ports"), [([1, 1, 0, 0], "1, 2"), ([1, 0, 0, 0], "1"), ([0, 1, 0, 0], "2")])
def test_inputs_that_are_always_late(make, latency, ports):
    game = make(latency=latency)
    with pytest.raises(DolphinError, match=rf"inputs arrive 1 frames late on port {ports}$"):
        game.reset(np.array([1], np.uint64))


@pytest.mark.parametrize("merges", [False, True])
@pytest.mark.parametrize("seat", [0, 1])
def test_a_pipe_with_a_flush_too_many_is_brought_into_step(make, monkeypatch, seat, merges):
    def one_too_many(emulator, seats):
        emulator.flush([emulator.pads[seat]])
        time.sleep(0.1)  # it is read before others come
        count_down(emulator, seats)

    monkeypatch.setattr(match, "count_down", one_too_many)
    game = make(merges=merges)
    start(game)
    in_step(game)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"stocks": 3}, "stock mode and 3, 3 stocks, stock mode and 4 were asked for"),
        ({"mode": 0x12}, "time mode and 4, 4 stocks, stock mode and 4 were asked for"),
        ({"timer": 180}, "a timer of 180 s, one of 480 s was asked for"),
        ({"mode": 0x30}, "no timer, one of 480 s was asked for"),
        ({"items": 2}, "items, none were asked for"),
        ({"frozen": False}, "a stadium that changes, a frozen one was asked for"),
    ],
)
def test_other_rules_are_refused(make, rules, words):
    game = make({"stage": "pokemon_stadium"}, rules=rules)
    with pytest.raises(DolphinError, match=f"the game began with {words}"):
        game.reset(np.array([1], np.uint64))


def test_computer_players_come_go_and_change(make):
    game = make()
    for player in ("cpu_3", None, "cpu_7", "cpu_6", None):
        game.bots[0, 1] = -1 if player is None else game.bot_names.index(player)
        start(game)
        port = emulator_of(game).reader.start.ports[1]
        assert (port.kind == 1) == (player is not None)
        if player is not None:
            assert port.level == int(player[-1])
    in_step(game, 20)


def test_a_computer_player_in_the_first_seat(make):
    game = make()
    game.bots[0, 0] = game.bot_names.index("cpu_9")
    start(game)
    in_step(game, 20, seats=(1,))
    game.bots[0, 0] = -1
    start(game)
    in_step(game, 20)


def test_sheik_and_every_stage_of_the_screen(make):
    game = make({"characters": ("sheik", "sheik"), "stage": "yoshis_story"}, cursor=[10.0, 10.0])
    start(game)
    assert game.state.players["character"][0].tolist() == [7, 7]
    in_step(game, 20)


def test_a_launcher_that_stays_is_no_shelter(make):
    game = make(start="")
    start(game)
    (child,) = psutil.Process(pid_of(game)).children()
    in_step(game, 5)
    game.close()
    wait_for(lambda: not is_alive(child.pid))


def test_what_it_started_itself_ends_with_it(make, tmp_path):
    mark = tmp_path / "pid"
    game = make(child=f"echo $$ > {mark}; exec sleep 600")
    start(game)
    pid = int(mark.read_text())
    assert psutil.pid_exists(pid)
    game.close()
    wait_for(lambda: not is_alive(pid))
