"""The connection to a running Dolphin: libmelee's own, with deadlines, and with the game's bytes kept for us.

libmelee alone waits for ever for a Dolphin that hangs, and needs seven seconds to see that one has died.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable
from typing import Any, Final

from melee.slippstream import EnetDisconnected, SlippstreamClient

from envs.errors import DolphinError

LOOK_S: Final = 0.25  # between two looks at the process while nothing comes
ADDRESS: Final = "127.0.0.1"


class Stream(SlippstreamClient):  # type: ignore[misc] # libmelee has no types
    """Messages of one Dolphin.

    Args:
        port: UDP port on this machine.
        check: Raises where there is nothing more to wait for; asked while nothing comes.
        frame_timeout_s: Seconds without a message after which a Dolphin counts as hung.
    """

    _worker: Any  # process that talks to Dolphin, None once it has ended

    def __init__(self, port: int, check: Callable[[], None], frame_timeout_s: float) -> None:
        super().__init__(ADDRESS, port)
        self._check = check
        self._timeout_s = frame_timeout_s
        self.payloads: list[bytes] = []  # of game events since somebody last took them

    def connect(self) -> bool:
        """Connect once, which libmelee tries for ten seconds.

        Raises:
            DolphinError: see ``check``.
        """
        self._worker.start()
        while not self._buffer.poll(LOOK_S):
            self._check()
        self.running = bool(self._buffer.recv())
        if not self.running:
            self.shutdown()
        return self.running

    def dispatch(self, polling_mode: bool, timeout: float = 0) -> dict[str, Any]:
        """The next message; what its game event holds is added to ``payloads``.

        Raises:
            DolphinError: none came in time, it is none, the connection has ended, or see ``check``.
        """
        if not self._buffer.poll(LOOK_S):
            self._wait()
        try:
            message: dict[str, Any] = super().dispatch(polling_mode=False)
            if message["type"] == "game_event" and message["payload"]:
                self.payloads.append(base64.b64decode(message["payload"]))
        except EnetDisconnected:
            self._check()
            raise DolphinError("Dolphin closed the connection") from None
        except (ValueError, KeyError, TypeError, binascii.Error) as error:
            raise DolphinError(f"Dolphin sent what is no message: {error}") from error
        return message

    def has_message(self, seconds: float) -> bool:
        """Whether there is a message, or will be within so many seconds."""
        return bool(self._buffer.poll(seconds))

    def _wait(self) -> None:
        deadline = time.monotonic() + self._timeout_s - LOOK_S
        while True:
            self._check()
            if self._buffer.poll(LOOK_S):
                return
            if time.monotonic() > deadline:
                raise DolphinError(f"no frame from Dolphin for {self._timeout_s:g} s")

    def kill(self) -> None:
        """End the connection at once; libmelee's ``shutdown`` takes up to a second."""
        if self._worker is not None and self._worker.pid is not None:
            self._worker.kill()
            self._worker.join()
            self._worker = None
        self._buffer.close()
        self.running = False
