"""One game of the mock as Dolphin shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from selfplay_melee.slp.encode import size_table
from selfplay_melee.slp.layout import FIRST_FRAME
from selfplay_melee.slp.record import NO_CONTEST
from selfplay_melee.slp.start import CHARACTERS, CPU, HUMAN, STAGES, PortStart, Start, write_end, write_start
from selfplay_melee.state import NUM_SEATS, STOCKS
from tests.support.fake_dolphin.live import Controller, LiveEvents

if TYPE_CHECKING:
    from selfplay_melee.slp.layout import Version
    from tests.support.fake_dolphin.engine import Engine
    from tests.support.fake_dolphin.match import Match
    from tests.support.fake_dolphin.pads import Pad

REST: Final[Controller] = (0.0, 0.0, 0.0, 0.0, 0.0, 0)
_EXTERNAL_STAGES: Final = {ours: theirs for theirs, ours in STAGES.items()}


class MockGame:
    """One game of the mock, as the events that Dolphin shows of it.

    Frames -123 to 0 show the start, inputs are shown and have no effect; frame 1 is the first that the mock plays.

    Args:
        engine: Plays it.
        match: Who plays, and where.
        number: Of the game since the program started.
        version: Of the events.
        endless: Neither the timer nor lost stocks end it.
    """

    def __init__(self, engine: Engine, match: Match, number: int, version: Version, *, endless: bool = False) -> None:
        engine.start(match, number)
        first, second = match.entrants
        self.match = match
        self.ports = (first.port, second.port)
        self.version = version
        self.number = FIRST_FRAME - 1  # of the latest frame
        self.over = False
        self._engine = engine
        self._endless = endless
        self._events = LiveEvents(version, self.ports)
        self._before = engine.players()

    @property
    def opening(self) -> list[bytes]:
        """What is shown before the first frame."""
        ports = tuple(
            PortStart(
                entrant.port, CHARACTERS[entrant.character], CPU if entrant.level else HUMAN, STOCKS, 0, "",
                entrant.level or 1,
            )
            for entrant in self.match.entrants
        )  # fmt: skip
        start = write_start(Start(_EXTERNAL_STAGES[self.match.stage], False, self.match.frozen, ports), self.version)
        return [size_table(self.version, start) + start]

    def frame(self, pads: Mapping[int, Pad]) -> bytes:
        """Play the next frame with the controllers as they are now."""
        self.number += 1
        engine = self._engine
        for seat, port in enumerate(self.ports):
            if self.match.entrants[seat].player is None:
                engine.enter(seat, pads[port].controller)
        if self.number > 0:
            self.over = engine.play()
            if self._endless:
                engine.refill()
                self.over = False
        before, self._before = self._before, engine.players()
        return self._events.pack(
            self.number, before, engine.controllers(), self._before,
            more_buttons=[pads[port].more_buttons if port in pads else 0 for port in self.ports],
            heights=engine.heights(), items=engine.lasers(self.ports),
        )  # fmt: skip

    def guess(self) -> bytes:
        """The next frame as netplay would guess it before the inputs are there: nothing has changed."""
        rest = [REST] * NUM_SEATS
        return self._events.pack(self.number + 1, self._before, rest, self._before)

    def ending(self, quitter: int | None) -> bytes:
        """What is shown after the last frame.

        Args:
            quitter: Port of who quit, if somebody did.
        """
        end = self._engine.end()
        if quitter is not None:
            end = replace(end, method=NO_CONTEST, lras_initiator=self.ports.index(quitter))
        return write_end(end, self.version, self.ports)
