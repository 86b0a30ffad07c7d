"""Parts of the stand-in by themselves: disc, ini files, pipes, menus, the spectator server."""

import contextlib
import json
import os

import numpy as np
import pytest

from selfplay.games.errors import GameError
from selfplay_melee.bots import LADDER, NAMES
from selfplay_melee.controller import BUTTONS
from selfplay_melee.mock import MockMelee
from selfplay_melee.state import CONTROLLER, records
from tests.support.fake_dolphin.config import read_settings
from tests.support.fake_dolphin.disc import CLOCKS, Disc, Fault, disc_of, read_disc, write_disc
from tests.support.fake_dolphin.engine import Engine
from tests.support.fake_dolphin.match import Entrant, Match, player_of_level
from tests.support.fake_dolphin.pads import Pad, Pipes
from tests.support.fake_dolphin.screens import ROSTER
from tests.support.fake_dolphin.server import Spectators
from tests.support.fake_dolphin_tests.driving import free_port, melee

FOX, MARTH, BATTLEFIELD = 1, 18, 0x18


# ---- disc


def test_a_disc_comes_back_as_it_was_written(tmp_path):
    disc = Disc(
        seed=5, persona="mainline", pace=60.0, faults=(Fault(kind="crash", at=7), Fault(kind="hang", every=2.5)),
        fault_seed=0, replay="a.slp", human="walker",
    )  # fmt: skip
    write_disc(tmp_path / "disc.json", disc)
    assert read_disc(tmp_path / "disc.json") == disc
    write_disc(tmp_path / "disc.json", Disc())
    assert json.loads((tmp_path / "disc.json").read_text()) == {}


@pytest.mark.parametrize("data", [b"", b"GALE01\0\2", b"\xff{", b"[1]", b'{"seed": 1', b"\0" * 3_000_000])
def test_what_is_no_disc_means_the_defaults(tmp_path, data):
    (tmp_path / "game.iso").write_bytes(data)
    assert read_disc(tmp_path / "game.iso") == Disc()


@pytest.mark.parametrize(
    ("found", "line"),
    [
        ({"seed": -1}, "seed must be from 0"),
        ({"seed": True}, "seed must be a whole number, got true"),
        ({"seed": None}, "seed must be a whole number, got null"),
        ({"fault_seed": 0.5}, "fault_seed must be a whole number or null, got 0.5"),
        ({"slp_version": "3.18"}, "slp_version must be a version"),
        ({"slp_version": "0.1.0"}, "slp_version must be a version"),
        ({"persona": "nintendont"}, "unknown persona"),
        ({"faults": "crash"}, "faults must be a list"),
        ({"faults": [{"at": 3}]}, "a fault needs a kind"),
        ({"faults": [{"kind": "crash", "at": 3, "every": 4}]}, "not both"),
        ({"faults": [{"kind": "no_start", "at": 3}]}, "happens as the program starts"),
        ({"faults": [{"kind": "crash", "when": 3}]}, "unknown setting 'when'"),
    ],
)
def test_a_mistake_is_named(found, line):
    with pytest.raises(GameError, match=line.replace("(", r"\(")):
        disc_of(found)


def test_a_disc_that_is_not_there(tmp_path):
    with pytest.raises(GameError, match="No such file"):
        read_disc(tmp_path / "no.iso")


def test_every_kind_of_fault_can_be_asked_for():
    assert disc_of({"faults": [{"kind": kind} for kind in CLOCKS]}).faults[0] == Fault(kind="no_start")


# ---- ini files


def test_a_folder_that_libmelee_did_not_write(tmp_path):
    (tmp_path / "Config").mkdir()
    with pytest.raises(GameError, match="EnableSpectator"):
        read_settings(tmp_path)
    (tmp_path / "Config/Dolphin.ini").write_text("[Slippi]\nEnableSpectator = True\nSpectatorLocalPort = none\n")
    with pytest.raises(GameError, match="must be a port, got 'none'"):
        read_settings(tmp_path)
    (tmp_path / "Config/Dolphin.ini").write_text("nonsense\n")
    with pytest.raises(GameError, match=r"Dolphin\.ini"):
        read_settings(tmp_path)


def test_replays_without_a_folder_go_into_the_user_folder(tmp_path):
    (tmp_path / "Config").mkdir()
    lines = ["[Slippi]", "EnableSpectator = True", "SpectatorLocalPort = 5", "SaveReplays = True", "[Core]"]
    (tmp_path / "Config/Dolphin.ini").write_text("\n".join([*lines, "SIDevice2 = 12", "SIDevice3 = 6"]))
    settings = read_settings(tmp_path)
    assert settings.replay_folder.is_relative_to(tmp_path)
    assert (settings.people, settings.pipes, settings.blocking) == ((2,), {}, False)


# ---- pipes


def written(console_like, write):
    """What libmelee's controller writes."""
    pad = melee.Controller.__new__(melee.Controller)
    pad.__dict__.update(
        pipe=console_like, logger=None, _fix_analog_inputs=True, current=melee.controller.ControllerState()
    )
    write(pad)
    pad.pipe = None


class Text:
    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text


def test_all_positions_that_actions_have_arrive_exactly():
    for code in range(17):
        value = (code - 8) / 8
        for button, first in ((melee.Button.BUTTON_MAIN, 0), (melee.Button.BUTTON_C, 2)):
            text, pad = Text(), Pad()
            written(text, lambda c, b=button, v=value: c.tilt_analog_unit(b, v, -v))
            assert pad.feed(text.text.encode() + b"FLUSH\n")
            assert pad.controller[first : first + 2] == (value, -value)
    for code in range(5):
        for button in (melee.Button.BUTTON_L, melee.Button.BUTTON_R):
            text, pad = Text(), Pad()
            written(text, lambda c, b=button, v=code / 4: c.press_shoulder(b, v))
            assert pad.feed(text.text.encode() + b"FLUSH\n")
            assert pad.controller[4] == code / 4


def test_buttons_one_by_one():
    pad = Pad()

    def frame(text):
        assert pad.feed(f"{text}FLUSH\n".encode())
        pad.latch()

    for i, name in enumerate(BUTTONS):
        frame(f"PRESS {name}\n")
        assert (pad.controller[5], pad.pressed(name), pad.more_buttons) == (1 << i, True, 0)
        frame("")
        assert (pad.holds(name), pad.pressed(name)) == (True, False)
        frame(f"RELEASE {name}\n")
        assert pad.controller[5] == 0
    frame("PRESS START\nPRESS D_LEFT\n")
    assert pad.more_buttons == 0x1001
    assert pad.controller[5] == 0


def test_lines_that_say_nothing_change_nothing():
    pad = Pad()
    assert not pad.feed(
        b"PRESS\nPRESS Q\nSET MAIN 1\nSET MAIN x y\nSET L nan\nSET C inf 1\n\xff\xfe\n\nFLUSH\nSET MAIN 9 -9\nPRE"
    )
    assert pad.controller == (1.0, -1.0, 0.0, 1.0, 0.0, 0)
    assert pad.feed(b"SS A\nFLUSH\n")
    assert pad.holds("A")


def test_full_tilt_of_a_stick_that_is_not_corrected_is_the_rim():
    pad = Pad()
    pad.feed(b"SET MAIN 0 1\nSET R 1\n")  # obeyed before a FLUSH comes
    assert pad.controller[:2] == (-1.0, 1.0)
    assert pad.controller[4] == 1.0


@contextlib.contextmanager
def pipes_in(folder, count=1, **options):
    """Pipes, and a function that writes lines to one of them."""
    paths = {port: folder / f"pipe_{port}" for port in range(count)}
    for path in paths.values():
        os.mkfifo(path)
    pipes = Pipes(paths, blocking=True, **options)
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(path.open("w", buffering=1)) for path in paths.values()]

        def write(port, *lines):
            writers[port].write("".join(f"{line}\n" for line in lines))

        yield pipes, write


def test_a_flush_is_waited_for(tmp_path):
    with pipes_in(tmp_path) as (pipes, write):
        write(0, "PRESS A", "FLUSH")
        assert pipes.wait(pytest.fail)
        assert pipes.pads[0].holds("A")
        write(0, "PRESS B")
        looks = []

        def meanwhile():
            looks.append(pipes.pads[0].holds("B"))
            write(0, "FLUSH")

        assert pipes.wait(meanwhile)
        assert looks == [True]  # what was written without a FLUSH is held, and waited with
    assert not pipes.wait(pytest.fail)  # all writers have closed it
    assert pipes.pads[0].holds("B")
    with (tmp_path / "pipe_0").open("w") as again:
        again.write("RELEASE B\nFLUSH\n")
        again.flush()
        assert pipes.wait(pytest.fail)
        assert not pipes.pads[0].holds("B")


def test_flushes_that_wait_in_a_pipe_are_one_and_the_last_state_counts(tmp_path):
    with pipes_in(tmp_path) as (pipes, write):
        write(0, "PRESS A", "FLUSH", "RELEASE A", "PRESS B", "FLUSH")
        assert pipes.wait(pytest.fail)
        pad = pipes.pads[0]
        assert (pad.holds("A"), pad.pressed("A"), pad.pressed("B")) == (False, False, True)
        waited = []
        pipes.wait(lambda: (waited.append(0), write(0, "FLUSH")))
        assert waited == [0]


def test_pipes_are_read_one_after_the_other_and_can_be_out_of_step(tmp_path):
    with pipes_in(tmp_path, 2) as (pipes, write):
        first, second = pipes.pads.values()
        write(0, "FLUSH")

        def one_too_many():
            write(0, "FLUSH")  # behind the reader, which is at the second pipe
            write(1, "FLUSH")

        pipes.wait(one_too_many)
        for button in "AB":

            def press(button=button):
                for port in range(2):
                    write(port, f"PRESS {button}", "FLUSH")

            pipes.wait(press)
            assert (first.holds(button), second.holds(button)) == (False, True)  # the first is a frame late
        pipes.look()  # within a frame: what is too much is read, and they are in step again
        assert first.holds("B")
        pipes.wait(lambda: (write(0, "PRESS X", "FLUSH"), write(1, "FLUSH")))
        assert first.holds("X")


def test_builds_that_wait_for_the_first_pipe_only(tmp_path):
    with pipes_in(tmp_path, 2, first_only=True) as (pipes, write):
        write(0, "FLUSH")
        assert pipes.wait(pytest.fail)
        write(1, "PRESS A", "FLUSH")
        waited = []
        pipes.wait(lambda: (waited.append(0), write(0, "FLUSH")))
        assert waited == [0]
        assert pipes.pads[1].holds("A")


def test_what_is_no_pipe_is_a_mistake(tmp_path):
    (tmp_path / "file").write_text("")
    for name in ("file", "nothing"):
        with pytest.raises(GameError, match="no named pipe"):
            Pipes({0: tmp_path / name}, blocking=True)


# ---- menus


def test_the_roster_is_the_one_that_libmelee_looks_at():
    for place, character in enumerate(ROSTER):
        assert melee.enums.from_internal(melee.Character(character)) == place
        assert melee.enums.to_internal(place).value == character


# ---- engine


def test_levels_climb_the_ladder():
    players = [player_of_level(level) for level in range(1, 10)]
    assert (players[0], players[-1]) == (LADDER[0], LADDER[-1])
    assert sorted(players, key=LADDER.index) == players
    assert set(players) == set(LADDER)


@pytest.mark.parametrize(("stage", "name"), [(8, "fountain_of_dreams"), (6, "yoshis_story"), (0x1A, "dreamland")])
def test_game_after_game_as_the_mocks_episodes(stage, name):
    rng = np.random.default_rng(1)
    engine = Engine(77)
    game = MockMelee(1, characters=("falco", "sheik"), stage=name, max_episode_frames=50)
    game.reset(np.array([77]))
    controllers = records(CONTROLLER, 50, 1, 2)
    for axis in ("main_x", "main_y", "c_x"):
        controllers[axis] = rng.integers(-8, 9, controllers.shape) / 8
    controllers["buttons"] = rng.integers(0, 4, controllers.shape)
    for number in range(3):
        engine.start(Match((Entrant(0, 22), Entrant(2, 7)), stage), number)
        assert engine.players() == game.state.players[0].tolist()
        for row in controllers[:49]:
            for seat in range(2):
                engine.enter(seat, row[0, seat].tolist())
            assert not engine.play()
            game.play(row[None])
            assert engine.players() == game.state.players[0].tolist()
        game.play(controllers[49:])


def test_scripted_players_as_those_of_the_mock():
    engine = Engine(3)
    game = MockMelee(1, characters=("fox", "marth"), stage="battlefield", bot_skip=4, max_episode_frames=9999)
    game.reset(np.array([3]))
    game.bots[0] = [NAMES.index("edge_guarder"), NAMES.index("rusher")]
    engine.start(Match((Entrant(0, FOX, "edge_guarder"), Entrant(1, MARTH, "rusher")), BATTLEFIELD), 0)
    rest = np.array([[[0] * 8 + [8] * 4 + [0, 0]] * 2], np.int8)
    for _ in range(600):
        game.step(rest)
        engine.play()
        assert engine.players() == game.state.players[0].tolist()
        assert engine.controllers() == game.state.controllers[0].tolist()


# ---- spectators


class Client:
    """Somebody who looks on."""

    def __init__(self, enet, server, port):
        self._enet, self._server = enet, server
        self._host = enet.Host(None, 1, 0, 0)
        self._peer = self._host.connect(enet.Address(b"127.0.0.1", port), 1)
        self.messages = []
        self._until(lambda event: event.type == enet.EVENT_TYPE_CONNECT)

    def _until(self, found):
        for _ in range(500):
            self._server.service()
            event = self._host.service(10)
            if event.type == self._enet.EVENT_TYPE_RECEIVE:
                self.messages.append(json.loads(event.packet.data))
            if found(event):
                return
        raise AssertionError("nothing came")

    def send(self, data):
        self._peer.send(0, self._enet.Packet(data))

    def receive(self, count):
        self._until(lambda event: len(self.messages) >= count)
        taken, self.messages = self.messages, []
        return taken

    def ended(self):
        self._until(lambda event: event.type == self._enet.EVENT_TYPE_DISCONNECT)


def test_who_comes_late_sees_the_whole_game_and_only_the_latest_menu():
    import enet

    port = free_port()
    server = Spectators(port)
    server.menu(b"first")
    server.menu(b"second")
    client = Client(enet, server, port)
    client.send(b"nonsense")
    client.send(b'{"type": "connect_request", "cursor": 0}')
    hello, menu = client.receive(2)
    assert hello["type"] == "connect_reply"
    assert (menu["type"], menu["payload"]) == ("menu_event", "c2Vjb25k")
    server.begin_game()
    server.game(b"one")
    server.game(b"lost", keep=False)
    server.game(b"two")
    assert [m.get("payload") for m in client.receive(4)] == [None, "b25l", "bG9zdA==", "dHdv"]
    late = Client(enet, server, port)
    late.send(b'{"type": "connect_request", "cursor": 0}')
    assert [m["type"] for m in late.receive(4)] == ["connect_reply", "start_game", "game_event", "game_event"]
    server.end_game()
    assert late.receive(1)[0]["type"] == "end_game"
    server.disconnect()
    late.ended()


def test_a_port_that_is_taken(capsys):
    port = free_port()
    server, other = Spectators(port), Spectators(port)  # the second goes on without spectators
    assert f"{port} cannot be opened" in capsys.readouterr().err
    for one in (server, other):
        one.menu(b"menu")
