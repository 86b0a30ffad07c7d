"""One Dolphin: started, connected to, fed with inputs frame by frame, stopped. All is libmelee's but the frames."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import melee
import psutil

from envs.errors import DolphinError
from envs.melee.dolphin.frames import FrameReader
from envs.melee.dolphin.install import free_port, version_of
from envs.melee.dolphin.launch import guarded, last_words
from envs.melee.dolphin.pad import Pad
from envs.melee.dolphin.stream import Stream

MEGABYTE: Final = 1 << 20
_PIPE_S: Final = 0.05  # between two looks whether Dolphin has opened a pipe


@dataclass(frozen=True, slots=True)
class Setup:
    """How a Dolphin is run."""

    executable: Path
    disc: Path
    slot: int = 0  # among all that run side by side: they get different ports
    slots: int = 1
    slippi_port: int = 51441
    headless: bool = False
    fast_forward: bool = False
    paced: bool = False  # at the game's own speed: a person plays
    replay_dir: Path | None = None
    start_timeout_s: float = 60.0
    frame_timeout_s: float = 5.0


class Emulator:
    """A Dolphin that runs from the end of the constructor to ``stop``.

    Args:
        setup: How.
        ports: Ports that we hold the controllers of, from 1.
        human: Port of a person.

    Raises:
        DolphinError: it did not start.
    """

    def __init__(self, setup: Setup, ports: Sequence[int], human: int | None = None) -> None:
        self._setup = setup
        self._deadline = time.monotonic() + setup.start_timeout_s
        self._waiting_for = f"Dolphin opened no spectator port within {setup.start_timeout_s:g} s"
        self._folder = Path(tempfile.mkdtemp(prefix="dolphin-"))
        self._stream: Stream | None = None
        self.reader = FrameReader()
        try:
            self._start(ports, human)
        except BaseException:
            self.stop()
            raise

    def _start(self, ports: Sequence[int], human: int | None) -> None:
        setup = self._setup
        _check_build(setup)
        port = free_port(setup.slippi_port, setup.slot, setup.slots)
        home = self._folder / "User"
        self.console = _console(setup, port, home)
        self.console.exe_path = str(guarded(Path(self.console.exe_path), self._folder))
        controllers = [melee.Controller(self.console, number) for number in ports]
        if human is not None:
            melee.Controller(self.console, human, melee.ControllerType.GCN_ADAPTER)
        bare = setup.headless and self.console.is_mainline
        self.console.run(iso_path=str(setup.disc), platform="headless" if bare else None)
        while True:
            self.console._slippstream = self._stream = Stream(port, self._check, setup.frame_timeout_s)
            if self.console.connect():
                break
        for controller in controllers:
            self._connect_pipe(controller)
        self._deadline = float("inf")
        self.pads = [Pad(controller) for controller in controllers]

    def _connect_pipe(self, controller: Any) -> None:  # noqa: ANN401
        """Let libmelee open the pipe of a controller once Dolphin reads it; before, it would wait for ever."""
        while (pipe := _open_pipe(controller.pipe_path)) is None:
            self._check()
            time.sleep(_PIPE_S)
        try:
            controller.connect()
        finally:
            os.close(pipe)  # only now: Dolphin has not seen the pipe without a writer

    @property
    def stream(self) -> Stream:
        """Its messages."""
        if self._stream is None:
            raise DolphinError("Dolphin does not run")
        return self._stream

    def wait_at_most(self, seconds: float, what: str) -> None:
        """From now on it is an error, ``what``, if ``expected`` is not called within so many seconds."""
        self._deadline, self._waiting_for = time.monotonic() + seconds, what

    def expected(self) -> None:
        """What was waited for has come."""
        self._deadline = float("inf")

    def _check(self) -> None:
        """Whether there is still something to wait for.

        Raises:
            DolphinError: the process has ended, or too much time has gone by.
        """
        code = self.console._process.poll()
        if code is not None:
            said = last_words(self._folder)
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            when = "in the menus" if self.reader.start is None else f"after frame {self.reader.frame}"
            raise DolphinError(f"Dolphin ended with {how} {when}{f': {said}' if said else ''}")
        if time.monotonic() > self._deadline:
            raise DolphinError(self._waiting_for)

    def menu_step(self) -> tuple[Any, bool]:
        """Flush the pads and wait: libmelee's view of what came, and whether it is the first frame of a game.

        Raises:
            DolphinError: nothing came, or nothing that could be read.
        """
        try:
            state = self.console.step()
        except DolphinError:
            raise
        except Exception as error:  # whatever libmelee stumbles over
            self._read_all()  # says better what is wrong, where it is the game's version
            raise DolphinError(f"libmelee cannot read what Dolphin sent: {error!r}") from error
        if time.monotonic() > self._deadline:
            raise DolphinError(self._waiting_for)
        return state, self._read_all()

    def _read_all(self) -> bool:
        """Read the game events that libmelee has been through; whether a frame was among them."""
        payloads, self.stream.payloads = self.stream.payloads, []
        new = [self.reader.feed(payload) for payload in payloads]
        return True in new

    def advance(self) -> bool:
        """Let it play a frame with what the pads hold, and wait for it; False: the game is over, menus are there.

        Raises:
            DolphinError: nothing came, or nothing that could be read.
        """
        self.flush()
        return self.next_frame()

    def flush(self) -> None:
        """Let Dolphin go on with what the pads hold.

        Raises:
            DolphinError: it no longer reads.
        """
        try:
            for pad in self.pads:
                pad.send()
        except BrokenPipeError:
            self._check()
            raise DolphinError("Dolphin reads its controllers no longer") from None

    def next_frame(self) -> bool:
        """Wait for a frame without sending anything."""
        stream, feed = self.stream, self.reader.feed
        while True:
            message = stream.dispatch(False)
            if message["type"] == "menu_event":
                return False
            if stream.payloads:
                (payload,), stream.payloads = stream.payloads, []
                new = feed(payload)
                if new:
                    return True
                if new is False:
                    self.flush()  # it waits after a frame that it repeats, too

    def left_game(self, seconds: float) -> bool:
        """Whether menus come within so many seconds; frames of the game that still come are read.

        Raises:
            DolphinError: see ``next_frame``.
        """
        stream, deadline = self.stream, time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if stream.has_message(left):
                if stream.dispatch(False)["type"] == "menu_event":
                    return True
                self._read_all()
        self._check()
        return False

    def settle(self, quiet_s: float) -> None:
        """Read on until nothing comes for so many seconds: then Dolphin has used up all flushes, and waits."""
        while self.stream.has_message(quiet_s):
            self.stream.dispatch(False)
            self._read_all()

    def memory_mb(self) -> float:
        """Megabytes that its processes hold."""
        total = 0
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.console._process.pid)
            for one in (process, *process.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    total += one.memory_info().rss
        return total / MEGABYTE

    def stop(self) -> None:
        """Kill it and remove what it wrote."""
        console = getattr(self, "console", None)
        if self._stream is not None:
            self._stream.kill()
        if console is not None:
            for controller in console.controllers:
                with suppress(OSError):
                    controller.disconnect()
            if console._process is not None:
                console._process.kill()
                console._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _check_build(setup: Setup) -> None:
    """Whether this Dolphin runs, and can what is asked of it; libmelee would ask for its version without a deadline.

    Raises:
        DolphinError: it cannot.
    """
    version = version_of(setup.executable)
    if setup.headless and not version.can_be_headless:
        raise DolphinError(f"{setup.executable} cannot run without a window ({version.text}): leave --headless out")
    if setup.fast_forward and not version.can_fast_forward:
        raise DolphinError(f"{setup.executable} is no ExiAI build ({version.text}): leave --fast-forward out")
    if setup.paced and not version.can_show:
        raise DolphinError(f"{setup.executable} shows nothing that a person could play ({version.text})")


def _console(setup: Setup, port: int, home: Path) -> Any:  # noqa: ANN401
    """A console of libmelee's with everything that it writes into ``home``.

    Raises:
        DolphinError: the build cannot do what was asked for, or libmelee does not know it.
    """
    save = setup.replay_dir is not None
    try:
        return melee.Console(
            path=str(setup.executable),
            dolphin_home_path=str(home),
            tmp_home_directory=False,
            slippi_port=port,
            blocking_input=True,
            online_delay=0,
            setup_gecko_codes=True,
            fullscreen=False,
            gfx_backend="Null" if setup.headless else "",
            disable_audio=not setup.paced,
            emulation_speed=1.0 if setup.paced else 0.0,
            save_replays=save,
            replay_dir=str(setup.replay_dir) if save else None,
            use_exi_inputs=setup.fast_forward,
            enable_ffw=setup.fast_forward,
        )
    except (OSError, ValueError, RuntimeError, AssertionError) as error:
        raise DolphinError(f"{setup.executable}: libmelee cannot use it: {error}") from error


def _open_pipe(path: str) -> int | None:
    """A named pipe that somebody has opened for reading, opened for writing; None where nobody has."""
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None
