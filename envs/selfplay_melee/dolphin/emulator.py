"""One Dolphin process: start, connection, inputs frame by frame, stop. Uses libmelee for all but the frames."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import melee
import psutil

from selfplay.games.files import last_line
from selfplay_melee.dolphin.console import LOADING, Setup, make_console
from selfplay_melee.dolphin.frames import FrameReader
from selfplay_melee.dolphin.install import check_build, claim_port, version_of
from selfplay_melee.dolphin.launch import LOG, guarded
from selfplay_melee.dolphin.leftovers import MARK, end_marked, holds_port
from selfplay_melee.dolphin.pad import Pad
from selfplay_melee.dolphin.stream import LOOK_S, Stream
from selfplay_melee.errors import DolphinError

MEGABYTE: Final = 1 << 20
PROMPT_AFTER_S: Final = 0.5  # of silence between two games until the first prompt
PROMPTS: Final = 60  # maximum number of prompts to continue
_PROMPT_S: Final = 0.05  # between two prompts
_QUIET_S: Final = 0.05  # without a message until Dolphin counts as waiting for inputs
MAX_AHEAD: Final = 400  # maximum number of messages after surplus flushes
ENDING_S: Final = 1.0  # for a Dolphin that has closed its pipes to end
_PIPE_S: Final = 0.05  # between two tries to open its pipes


class Emulator:
    """A Dolphin that runs from the end of the constructor to ``stop``.

    Args:
        setup: Settings.
        ports: Ports whose controllers we hold, from 1.
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
        self.pads: list[Pad] = []
        self._unread: list[melee.Controller] = []  # whose pipes Dolphin has not opened yet
        self._held = ExitStack()  # the claim to its port
        self._patience_s = float("inf")  # without a message
        self._playing = False  # in a game, where Dolphin sends frames without prompts
        self._prompts = 0
        self._games = 0  # that have been entered
        self.reader = FrameReader()
        self.helper = melee.MenuHelper()  # keeps for the next game that Stadium is frozen
        try:
            self._start(ports, human)
        except BaseException:
            self.stop()
            raise

    def _start(self, ports: Sequence[int], human: int | None) -> None:
        setup = self._setup
        # libmelee does this too, but without a timeout.
        check_build(
            setup.executable,
            version_of(setup.executable),
            headless=setup.headless,
            fast_forward=setup.fast_forward,
            person=setup.paced,
        )
        port, claim = claim_port(setup.slippi_port, setup.slot, setup.slots)
        self._held.enter_context(claim)
        home = self._folder / "User"
        self.console = make_console(setup, port, home)
        self.console.exe_path = str(guarded(Path(self.console.exe_path), self._folder))
        controllers = [melee.Controller(self.console, number) for number in ports]
        if human is not None:
            melee.Controller(self.console, human, melee.ControllerType.GCN_ADAPTER)
        bare = setup.headless and self.console.is_mainline
        self._unread = controllers.copy()
        self.console.run(
            iso_path=str(setup.disc),
            environment_vars={MARK: str(self._folder)},
            platform="headless" if bare else None,
        )
        while True:
            self.console._slippstream = self._stream = Stream(port, self._idle, self.reader.feed)
            if self.console.connect():
                break
        if not holds_port(str(self._folder), port):  # Dolphin does not report a port that it cannot open
            self._check()
            raise DolphinError(f"UDP port {port} belongs to another program, which answers in Dolphin's place")
        while self._unread:
            self._idle(0.0)
            time.sleep(_PIPE_S)
        self._deadline, self._patience_s = float("inf"), setup.start_timeout_s
        self.pads = [Pad(controller) for controller in controllers]

    def _hold_pipes(self) -> None:
        """Open the pipes that Dolphin reads already; libmelee's ``connect`` would never return if Dolphin is dead."""
        for controller in self._unread.copy():
            with suppress(OSError):
                pipe = os.open(controller.pipe_path, os.O_WRONLY | os.O_NONBLOCK)
                os.set_blocking(pipe, True)
                controller.pipe = os.fdopen(pipe, "w", encoding="ascii")
                self.console.controllers.append(controller)
                self._unread.remove(controller)

    @property
    def stream(self) -> Stream:
        if self._stream is None:
            raise DolphinError("Dolphin does not run")
        return self._stream

    def enter_menus(self, seconds: float) -> None:
        """Start the deadline for ``enter_game``, in seconds."""
        self._playing = False
        self._deadline = time.monotonic() + seconds
        self._waiting_for = f"the menus gave no game within {seconds:g} s"

    def enter_game(self) -> None:
        """End the deadline of ``enter_menus``: the wanted game has begun."""
        self._playing, self._games, self._prompts = True, self.reader.games, 0
        self.reader.end = None
        self._deadline = float("inf")
        self._patience_s = float("inf") if self._setup.paced else self._setup.frame_timeout_s  # people may pause

    @property
    def has_begun(self) -> bool:
        """Whether a game has begun since the last ``enter_game``."""
        return self.reader.games > self._games and self.reader.first is not None

    @property
    def prompted(self) -> bool:
        """Whether prompts were sent since the last ``settle``."""
        return self._prompts > 0

    def _idle(self, silent_s: float) -> float:
        """Called while no message comes; see ``Stream``.

        Raises:
            DolphinError: see ``_check``, or nothing has come for too long.
        """
        self._check()
        if self._unread:
            self._hold_pipes()
        elif silent_s > self._patience_s:
            raise DolphinError(f"no frame from Dolphin for {self._patience_s:g} s")
        elif self.pads and not self._playing and silent_s > PROMPT_AFTER_S and self._prompts < PROMPTS:
            # Between two games it is unknown whether Dolphin waits for inputs. ``settle`` handles surplus flushes.
            self._prompts += 1
            self.flush()
            return _PROMPT_S
        return LOOK_S

    def _check(self) -> None:
        """Check the process and the deadlines.

        Raises:
            DolphinError: the process has ended, or a deadline has passed.
        """
        code = self.console._process.poll()
        if code is not None:
            said = last_line(self._folder / LOG)
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            playing = self._playing or self.has_begun
            when = f"after frame {self.reader.frame}" if playing else "in the menus"
            raise DolphinError(f"Dolphin ended with {how} {when}{f': {said}' if said else ''}")
        if time.monotonic() > self._deadline:
            raise DolphinError(self._waiting_for)

    def menu_step(self) -> Any:  # noqa: ANN401 # melee.GameState
        """Flush the pads and wait for a message; libmelee's state of it, if it has one. See ``has_begun`` for frames.

        Raises:
            DolphinError: nothing came, or nothing that could be read.
        """
        if self.reader.games > self._games:  # it began during another call
            self.advance()
            return None
        try:
            state = self.console.step()
        except DolphinError:
            raise
        except BrokenPipeError:
            raise self._unheard() from None
        except Exception as error:  # any error of libmelee
            raise DolphinError(f"libmelee cannot read what Dolphin sent: {error!r}") from error
        self._patience_s = LOADING * self._setup.frame_timeout_s
        if time.monotonic() > self._deadline:
            raise DolphinError(self._waiting_for)
        return state

    def advance(self) -> bool:
        """Play a frame with the inputs of the pads; False if the game is over.

        Raises:
            DolphinError: nothing came, or nothing that could be read.
        """
        self.flush()
        return self.next_frame()

    def flush(self, pads: Sequence[Pad] | None = None) -> None:
        """Write and flush the inputs of the pads, all by default.

        All are written before any is flushed, since some builds wait for one pipe only.

        Raises:
            DolphinError: it no longer reads.
        """
        pads = self.pads if pads is None else pads
        try:
            for pad in pads:
                pad.write()
            for pad in pads:
                pad.flush()
        except BrokenPipeError:
            raise self._unheard() from None

    def release(self) -> None:
        """Release everything on all pads."""
        for pad in self.pads:
            pad.release()

    def _unheard(self) -> DolphinError:
        """The error for a pipe that Dolphin has closed.

        Raises:
            DolphinError: it has ended.
        """
        with suppress(subprocess.TimeoutExpired):
            self.console._process.wait(ENDING_S)
        self._check()
        return DolphinError("Dolphin reads its controllers no longer")

    def next_frame(self) -> bool:
        """Wait for a frame without sending inputs; False if menus or another game came (``has_begun``)."""
        stream, reader = self.stream, self.reader
        while True:
            games = reader.games
            if stream.dispatch(False)["type"] == "menu_event":
                return self._game_over()
            new = stream.fed
            if reader.games == self._games:
                if new:
                    return True
                if new is False:
                    self.flush()  # it also waits after a repeated frame
                elif reader.end is not None and self._playing:
                    self._game_over()
            elif new:
                return self._game_over()
            elif reader.games > games:
                self.flush()  # for the first frame, as libmelee does

    def _game_over(self) -> bool:
        self._playing, self._patience_s = False, LOADING * self._setup.frame_timeout_s
        return False

    def left_game(self, seconds: float) -> bool:
        """Whether the game ends within some seconds; reads remaining frames.

        Raises:
            DolphinError: see ``next_frame``.
        """
        stream, deadline = self.stream, time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if stream.has_message(left):
                menu = stream.dispatch(False)["type"] == "menu_event"
                if menu or self.reader.end is not None:
                    self._game_over()
                    return True
        self._check()
        return False

    def settle(self, quiet_s: float = _QUIET_S) -> None:
        """Read messages until none comes for some seconds: Dolphin has then used all flushes and waits.

        Raises:
            DolphinError: messages do not stop.
        """
        came = 0
        while self.stream.has_message(quiet_s):
            self.stream.dispatch(False)
            came += 1
            if came > MAX_AHEAD:
                raise DolphinError("Dolphin does not wait for its inputs: is BlockingPipes on?")
        self._prompts = 0

    def memory_mb(self) -> float:
        """Memory of its processes, MB."""
        total = 0
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.console._process.pid)
            for one in (process, *process.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    total += one.memory_info().rss
        return total / MEGABYTE

    def stop(self) -> None:
        """Kill it and remove its files."""
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
                end_marked(str(self._folder))
        self._held.close()
        shutil.rmtree(self._folder, ignore_errors=True)
