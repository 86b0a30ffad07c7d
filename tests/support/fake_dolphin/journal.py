"""What the stand-in has done, line by line in a file: with it, faults that were injected can be counted."""

from __future__ import annotations

import json
import os
import time

from selfplay.games.errors import GameError


class Journal:
    """Writes lines of JSON: ``wall`` (seconds), ``port``, ``pid``, ``event``, ``kind``; several programs may.

    Args:
        path: Of the file; None: nothing is written.
        port: The spectator port, which tells one program from others.

    Raises:
        GameError: the file cannot be written.
    """

    def __init__(self, path: str | None, port: int) -> None:
        self._port = port
        try:
            self._file = None if path is None else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            raise GameError(f"journal {path}: {error.strerror}") from error

    def note(self, event: str, kind: str = "") -> None:
        """Add a line; it is in the file when this returns."""
        if self._file is not None:
            line = {"wall": time.time(), "port": self._port, "pid": os.getpid(), "event": event, "kind": kind}
            os.write(self._file, json.dumps(line).encode() + b"\n")
