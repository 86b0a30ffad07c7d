"""What goes wrong with an emulator is told as what it is, in time, and nothing of it stays."""

import socket
import time
from types import SimpleNamespace

import numpy as np
import pytest

from selfplay_melee.controller import NEUTRAL
from selfplay_melee.dolphin import emulator
from selfplay_melee.errors import DolphinError
from selfplay_melee.state import CONTROLLER
from tests.melee.dolphin.emulators import PORT, SEEDS, disc_with, emulator_of, game_on, games_in, process_of
from tests.support.cases import first_alone
from tests.support.fake_dolphin.faults import CRASHED

from selfplay_melee.dolphin.emulator import Emulator  # isort: skip # needs libmelee, which ``emulators`` asks for
from selfplay_melee.dolphin.pad import Pad  # isort: skip
from tests.support.processes import LIMIT_S

PATIENT = {"start_timeout_s": LIMIT_S, "frame_timeout_s": 60.0}
QUICK = {"start_timeout_s": 4.0, "frame_timeout_s": 1.0}
DURING = {  # fault: (moment, words, deadlines)
    "crash": (30, rf"ended with exit code {CRASHED} after frame 29", PATIENT),
    "hang": (30, r"no frame from Dolphin for 4 s", PATIENT | {"frame_timeout_s": 4.0}),
    "disconnect": (30, r"closed the connection", PATIENT),
    "garbage": (30, r"no events of a game", PATIENT),
    "truncated": (30, r"a part of an event 0x38", PATIENT),
    "bad_json": (30, r"what is no message", PATIENT),
}
BEGINNING = {
    "no_start": (r"ended with exit code 1 in the menus", PATIENT),
    "dead_port": (r"opened no spectator port within 4 s", QUICK),
    "old_version": (r"Slippi 2\.0\.0 is too old, 3\.8\.0 or newer", PATIENT),
    "wrong_character": (r"began with \w+ on port 1, fox was asked for", PATIENT),
    "wrong_stage": (r"began on \w+, battlefield was asked for", PATIENT),
    "menu_crash": (rf"exit code {CRASHED} in the menus", PATIENT),
}


@pytest.fixture
def make(tmp_path, scratch):
    """Makes games; nothing of them may be left."""
    with games_in(scratch) as games:

        def make(disc, **options):
            options = {"characters": ("fox", "marth"), "stage": "battlefield", **options}
            games.append(game_on(tmp_path / "stand_in", disc, **options))
            return games[-1]

        yield make


def neutral():
    return np.broadcast_to(NEUTRAL, (1, 2, len(NEUTRAL))).copy()


def play(game, frames):
    for _ in range(frames):
        game.step(neutral())


@pytest.mark.parametrize("kind", first_alone(DURING))
def test_faults_during_a_game(make, kind):
    moment, words, deadlines = DURING[kind]
    game = make(disc_with((kind, moment)), **deadlines)
    game.reset(SEEDS)
    play(game, moment - 1)
    with pytest.raises(DolphinError, match=words) as caught:
        play(game, 2)
    assert "\n" not in str(caught.value)
    game.close()
    game.reset(SEEDS)  # a fresh emulator
    play(game, moment - 1)


@pytest.mark.parametrize("kind", first_alone(BEGINNING))
def test_faults_before_a_game(make, kind):
    words, deadlines = BEGINNING[kind]
    game = make(disc_with(kind), **deadlines)
    with pytest.raises(DolphinError, match=words) as caught:
        game.reset(SEEDS)
    assert "\n" not in str(caught.value)


@pytest.mark.full
def test_garbage_in_the_countdown_is_not_read_for_ever(make):
    game = make(disc_with(("garbage", -123)), **PATIENT)
    with pytest.raises(DolphinError, match="no events of a game"):
        game.reset(SEEDS)


@pytest.mark.slow
def test_a_start_that_is_slower_than_libmelee_waits(make):
    game = make(disc_with(boot_s=11.0), start_timeout_s=40.0)
    begun = time.monotonic()
    game.reset(SEEDS)
    assert time.monotonic() - begun > 11.0
    play(game, 5)


@pytest.mark.full
def test_frames_that_are_sent_again(make):
    """A wrong guess is acted on, so it counts; its correction does not, but Dolphin waits after it, too."""
    game = make(disc_with(rollback_every=7))
    game.reset(SEEDS)
    for frame in range(1, 60):
        game.step(neutral())
        assert game.state.game["frame"][0] == frame


@pytest.mark.full
def test_the_process_is_killed_in_between(make):
    game = make(disc_with())
    game.reset(SEEDS)
    process_of(game).kill()
    with pytest.raises(DolphinError, match="ended with signal 9"):
        play(game, 3)
    game.reset(SEEDS)
    play(game, 3)


@pytest.mark.full
def test_nobody_reads_the_pipes_any_more(make):
    game = make(disc_with())
    game.reset(SEEDS)
    process_of(game).kill()
    process_of(game).wait(LIMIT_S)
    with pytest.raises(DolphinError, match="ended with signal 9 after frame 0"):
        emulator_of(game).flush()


@pytest.mark.parametrize("first", [0, 1])
def test_a_build_that_waits_for_one_pipe_only_gets_the_inputs_of_both(first):
    """It plays as soon as the pipe that it reads first is flushed, with what the other holds at that moment."""
    held, played = [b"", b""], []

    class Pipe:
        def __init__(self, seat):
            self.seat, self.text = seat, ""

        def write(self, text):
            self.text += text

        def flush(self):
            held[self.seat] += self.text.encode()
            if self.seat == first and "FLUSH" in self.text:
                played.append(list(held))
            self.text = ""

    pads = [Pad(SimpleNamespace(pipe=Pipe(seat))) for seat in range(2)]
    inputs = np.zeros(2, CONTROLLER)
    inputs["buttons"] = 1
    for pad, record in zip(pads, inputs, strict=True):
        pad.hold(record)
    emulator = Emulator.__new__(Emulator)
    emulator.pads = pads
    emulator.flush()
    ((one, other),) = played
    assert b"PRESS A" in one
    assert b"PRESS A" in other


def test_an_emulator_that_was_stopped_can_be_stopped_again(make):
    game = make(disc_with())
    game.reset(SEEDS)
    game.close()
    game.close()
    with pytest.raises(DolphinError, match="no game was begun"):
        emulator_of(game)


@pytest.mark.full
def test_ports_that_are_taken_are_passed_over(make):
    games = [make(disc_with(), slot=slot, slots=2) for slot in (0, 0, 1)]
    for game in games:
        game.reset(SEEDS)
    ports = [emulator_of(game).console.slippi_port for game in games]
    assert ports[0] == PORT
    assert ports[1] == PORT + 2  # the next that slot 0 may take
    assert ports[2] == PORT + 1


@pytest.mark.full
def test_the_dolphin_of_another_run_is_not_played_on(make, monkeypatch):
    """A Dolphin whose port is taken plays on without a word; what answers there is not ours."""
    first, second = make(disc_with()), make(disc_with(), **PATIENT)
    first.reset(SEEDS)
    taken = emulator_of(first).console.slippi_port
    monkeypatch.setattr(emulator, "claim_port", lambda *_: (taken, socket.socket()))  # as it was when we looked
    with pytest.raises(DolphinError, match=f"UDP port {taken} belongs to another program"):
        second.reset(SEEDS)
    play(first, 3)
    monkeypatch.undo()
    second.reset(SEEDS)
    play(second, 3)


@pytest.mark.full
def test_it_dies_just_before_its_pipes_are_opened(make, monkeypatch):
    connect = emulator.Stream.connect

    def connect_and_kill(self):
        connected, ours = connect(self), self._idle.__self__
        while ours._unread:
            ours._hold_pipes()
        ours.console._process.kill()
        ours.console._process.wait(LIMIT_S)
        return connected

    monkeypatch.setattr(emulator.Stream, "connect", connect_and_kill)
    with pytest.raises(DolphinError, match="ended with signal 9 in the menus"):
        make(disc_with(), **PATIENT).reset(SEEDS)


@pytest.mark.full
def test_a_pipe_that_breaks_in_the_menus_is_told_as_that(make, monkeypatch):
    step = emulator.Emulator.menu_step

    def broken(self):
        self.console._process.kill()  # its end of the pipes is gone as soon as it is
        self.console._process.wait(LIMIT_S)
        return step(self)

    monkeypatch.setattr(emulator.Emulator, "menu_step", broken)
    with pytest.raises(DolphinError, match=r"^Dolphin ended with signal 9 in the menus"):
        make(disc_with(), **PATIENT).reset(SEEDS)
