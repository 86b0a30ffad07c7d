"""libmelee's connection to a running Dolphin, with deadlines and access to the raw events.

libmelee alone never times out on a hung Dolphin, and takes seven seconds to notice a dead one.
"""

from __future__ import annotations

import base64
import binascii
import select
import time
from collections.abc import Callable
from typing import Any, Final

from melee.slippstream import EnetDisconnected, SlippstreamClient

from selfplay_melee.dolphin.frames import MENU
from selfplay_melee.errors import DolphinError

LOOK_S: Final = 0.25  # between two checks of the process without messages
ADDRESS: Final = "127.0.0.1"
_EVENTS: Final = ("game_event", "menu_event")


class Stream(SlippstreamClient):  # type: ignore[misc] # libmelee has no types
    """Messages of one Dolphin.

    Args:
        port: UDP port on this machine.
        idle: Called while no message comes, with the seconds since the last one; returns the seconds until the next
            call, and raises to stop waiting.
        feed: Reads the events of a game before libmelee, which never returns for some damaged ones.
    """

    _worker: Any  # process that talks to Dolphin, None once it has ended

    def __init__(self, port: int, idle: Callable[[float], float], feed: Callable[[bytes], bool | None]) -> None:
        super().__init__(ADDRESS, port)
        self._idle = idle
        self._coming = select.poll()  # made once: ``Connection.poll`` takes as long as reading a frame
        self._coming.register(self._buffer, select.POLLIN)
        self._feed = feed
        self.fed: bool | None = None  # result of ``feed`` for the last message

    def connect(self) -> bool:
        """Connect once; libmelee tries for ten seconds.

        Raises:
            DolphinError: see ``idle``.
        """
        self._worker.start()
        self._wait()
        self.running = bool(self._buffer.recv())
        if not self.running:
            self.shutdown()
        return self.running

    def dispatch(self, polling_mode: bool, timeout: float = 0) -> dict[str, Any]:
        """The next message, passed to ``feed`` if it is of a game.

        Dolphin sometimes sends menus as events of a game: those become menu events, and empty ones nothing.

        Raises:
            DolphinError: an invalid message, the connection has ended, or see ``idle`` and ``feed``.
        """
        if not self.has_message(LOOK_S):
            self._wait(LOOK_S)
        payload = b""
        try:
            message: dict[str, Any] = super().dispatch(polling_mode=False)
            if message["type"] in _EVENTS:
                payload = base64.b64decode(message.setdefault("payload", ""))
                if not payload:
                    message["type"] = "nothing"
                elif payload[0] == MENU:
                    message["type"] = "menu_event"
        except EnetDisconnected:
            self._idle(0.0)
            raise DolphinError("Dolphin closed the connection") from None
        except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
            raise DolphinError(f"Dolphin sent what is no message: {error}") from error
        self.fed = self._feed(payload) if message["type"] == "game_event" else None
        return message

    def has_message(self, seconds: float) -> bool:
        return bool(self._coming.poll(seconds * 1000.0))

    def _wait(self, silent_s: float = 0.0) -> None:
        """Wait for a message; ``silent_s`` is the time since the last one."""
        begun = time.monotonic() - silent_s
        while not self.has_message(self._idle(time.monotonic() - begun)):
            pass

    def kill(self) -> None:
        """End the connection at once; libmelee's ``shutdown`` takes up to a second."""
        if self._worker is not None and self._worker.pid is not None:
            self._worker.kill()
            self._worker.join()
            self._worker = None
        self._buffer.close()
        self.running = False
