"""Games as .slp files: what was shown of them, event by event."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay_melee.replay import replace_file
from selfplay_melee.slp.encode import metadata, wrap
from selfplay_melee.slp.layout import FIRST_FRAME
from tests.support.fake_dolphin.game import MockGame
from tests.support.fake_dolphin.say import say

if TYPE_CHECKING:
    from tests.support.fake_dolphin.served import ServedGame


class Saver:
    """Writes every game that ended, finished or quit.

    Args:
        folder: Where; None: nowhere.
        monthly: In a folder for each month.
    """

    def __init__(self, folder: Path | None, *, monthly: bool) -> None:
        self._folder = folder
        self._monthly = monthly
        self._events: list[bytes] = []
        self._started = datetime.now().astimezone()
        self._files = 0

    def begin(self) -> None:
        """A game begins."""
        self._events = []
        self._started = datetime.now().astimezone()

    def add(self, events: bytes) -> None:
        """Keep what is shown."""
        if self._folder is not None:
            self._events.append(events)

    def end(self, game: MockGame | ServedGame) -> None:
        """Write the file. That the folder cannot be written is said, and the games go on."""
        if self._folder is None:
            return
        frames = game.number - FIRST_FRAME + 1
        entrants = game.match.entrants if isinstance(game, MockGame) else ()
        unnamed: dict[str, str] = {}
        players = [(entrant.port, unnamed, {entrant.character: frames}) for entrant in entrants]
        data = wrap(b"".join(self._events), metadata(self._started, game.number, players))
        folder = self._folder / self._started.strftime("%Y-%m") if self._monthly else self._folder
        self._files += 1
        name = f"Game_{self._started:%Y%m%dT%H%M%S}_{os.getpid()}-{self._files}.slp"  # several programs may share it
        try:
            replace_file(folder / name, data)
        except OSError as error:
            say(f"{folder / name}: {error.strerror}")
