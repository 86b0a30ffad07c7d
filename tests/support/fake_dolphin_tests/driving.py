"""Drives a stand-in with an unmodified libmelee, as any program drives Dolphin."""

import contextlib
import fcntl
import os
import socket
import sys
import termios
import time
from pathlib import Path

import pytest

from selfplay_melee.controller import BUTTONS
from tests.support.processes import LIMIT_S, wait_for

if os.name != "posix":
    pytest.skip("needs named pipes", allow_module_level=True)
melee = pytest.importorskip("melee", reason="needs libmelee (the extra dolphin)")

Menu, Button, Character, Stage = melee.Menu, melee.Button, melee.Character, melee.Stage
MENU_FRAMES = 700  # more than any way through the menus takes
NAMES = {name: getattr(Button, f"BUTTON_{name}") for name in (*BUTTONS, "START")}


def free_port():
    """A UDP port that nobody has just now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def is_open(port):
    """Whether a UDP port is open, where that can be seen: libmelee asks a closed one again only a second later."""
    table = Path("/proc/net/udp")
    return not table.exists() or f":{port:04X} " in table.read_text()


def unread(pipe):
    """Bytes that wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe.fileno(), termios.FIONREAD, bytes(4)), sys.byteorder)


class Drive:
    """A console with its controllers, and how to get through the menus."""

    def __init__(self, files, ports, options, kinds):
        program, self.disc = files
        self.console = melee.Console(path=str(program), slippi_port=free_port(), **options)
        kinds = kinds or {}
        self.pads = {
            port: melee.Controller(self.console, port, kinds.get(port, melee.ControllerType.STANDARD)) for port in ports
        }
        self.helper = melee.MenuHelper()

    @property
    def process(self):
        return self.console._process

    def start(self):
        self.console.run(str(self.disc))

    def connect(self):
        wait_for(lambda: is_open(self.console.slippi_port) or self.process.poll() is not None)
        wait_for(self._connect)
        for pad in self.pads.values():
            pad.connect()

    def _connect(self):
        """libmelee gives up after ten seconds, in which a busy machine may not have loaded the rules."""
        if connected := self.console.connect():
            return connected
        assert self.process.poll() is None
        self.console._slippstream = melee.slippstream.SlippstreamClient("127.0.0.1", self.console.slippi_port)
        return False

    def step(self):
        self.state = self.console.step()
        return self.state

    def flush(self):
        """Flush, and wait until that is read: a later flush would count as the same one.

        The first port comes last: Ishiiruka waits for its pipe alone, and reads the others once after it.
        """
        for pad in reversed(self.pads.values()):
            pad.flush()
        while self.process.poll() is None and any(unread(pad.pipe) for pad in self.pads.values() if pad.pipe):
            time.sleep(0.001)

    def enter(self, first=("FOX", "MARTH"), stage="BATTLEFIELD", levels=(), frozen=True, leave_after=MENU_FRAMES):
        """Go through the menus with libmelee's help; the first state of the game, and menu frames on the way.

        The controller of a computer player starts the game, if there is one: it would start before its level is set.
        """
        levels = dict(levels)
        standard = [port for port, pad in self.pads.items() if pad.pipe]
        starter = next(iter(levels), standard[0])
        seen = []
        while (state := self.step()).menu_state is not Menu.IN_GAME:
            seen.append(state)
            if len(seen) > leave_after:
                return None, seen
            for pad, name in zip((self.pads[port] for port in standard), first, strict=False):
                if state.menu_state is Menu.UNKNOWN_MENU:
                    self.helper.skip_postgame(pad)
                else:
                    self.helper.menu_helper_simple(
                        state, pad, Character[name], Stage[stage], cpu_level=levels.get(pad.port, 0),
                        autostart=pad.port == starter, frozen_stadium=frozen,
                    )  # fmt: skip
        return state, seen

    def quit(self, port=1):
        """Leave a game by L+R+A+START. While it stands still no frame comes: controllers are flushed by hand."""
        while self.state.frame < 0:
            self.step()
        pad = self.pads[port]
        for other in self.pads.values():
            other.release_all()
        pad.press_button(Button.BUTTON_START)
        self.step()
        pad.release_button(Button.BUTTON_START)
        for name in ("L", "R", "A"):
            pad.press_button(NAMES[name])
        self.flush()
        pad.press_button(Button.BUTTON_START)
        state = self.step()
        for other in self.pads.values():
            other.release_all()
        return state

    def send(self, port, controller):
        """Hold a CONTROLLER record."""
        pad = self.pads[port]
        pad.tilt_analog_unit(Button.BUTTON_MAIN, float(controller["main_x"]), float(controller["main_y"]))
        pad.tilt_analog_unit(Button.BUTTON_C, float(controller["c_x"]), float(controller["c_y"]))
        pad.press_shoulder(Button.BUTTON_L, float(controller["shoulder"]))
        for i, name in enumerate(BUTTONS):
            (pad.press_button if controller["buttons"] >> i & 1 else pad.release_button)(NAMES[name])


def end(console):
    """Stop it; libmelee alone would wait a second for its worker, and for ever for one that never started."""
    stream = console._slippstream
    if stream._worker is not None and stream._worker.pid is not None:
        stream._worker.kill()  # it may hold a lock that an orderly shutdown would wait for
        stream._worker.join(LIMIT_S)
        stream._buffer.close()
    stream._worker = None
    console.stop()


@contextlib.contextmanager
def running(files, ports=(1, 2), kinds=None, connect=True, **options):
    """A stand-in that runs and is connected."""
    drive = Drive(files, ports, {"blocking_input": True, "save_replays": False} | options, kinds)
    try:
        drive.start()
        if connect:
            drive.connect()
        yield drive
    finally:
        end(drive.console)
        for pad in drive.pads.values():
            with contextlib.suppress(BrokenPipeError):
                pad.disconnect()
