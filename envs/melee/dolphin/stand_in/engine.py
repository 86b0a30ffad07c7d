"""The mock as the game behind the stand-in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from envs.errors import UnknownNameError
from envs.melee import bots
from envs.melee.episodes import EPISODE, play_frame, start_episode
from envs.melee.physics.memory import MEMORY
from envs.melee.slp.columns import FOUNTAIN_STAGE, recorded_heights
from envs.melee.slp.layout import FIRST_FRAME, Version
from envs.melee.slp.live import Controller, Item, LiveEvents, Player
from envs.melee.slp.record import LASER_ITEMS, NO_CONTEST, end_of
from envs.melee.slp.start import CHARACTERS as EXTERNAL
from envs.melee.slp.start import CPU, HUMAN, End, PortStart, Start, write_end, write_start
from envs.melee.slp.start import STAGES as STAGE_NUMBERS
from envs.melee.slp.write import size_table
from envs.melee.state import CONTROLLER, NUM_SEATS, STOCKS, GameState, records
from envs.melee.tables import load_tables

if TYPE_CHECKING:
    from envs.melee.dolphin.stand_in.pads import Pad

LEVELS: Final = 9  # of computer players
NO_CAP: Final = 2**31 - 1
REST: Final[Controller] = (0.0, 0.0, 0.0, 0.0, 0.0, 0)
_EXTERNAL_STAGES: Final = {ours: theirs for theirs, ours in STAGE_NUMBERS.items()}


@dataclass(frozen=True, slots=True)
class Entrant:
    """Who plays at a port."""

    port: int  # 0..3
    character: int  # internal id
    player: str | None = None  # scripted player; None: the controller of the port
    level: int = 0  # of a computer player, 1..9; 0: a person, or a bot with a controller


@dataclass(frozen=True, slots=True)
class Match:
    """A game as it was set up."""

    entrants: tuple[Entrant, Entrant]  # the lower port first
    stage: int  # as libmelee and the tables number stages
    frozen: bool = False  # Stadium does not change; the mock's never does


def player_of_level(level: int) -> str:
    """The scripted player who is a computer player of this level, 1..9: the weakest first, by the ladder."""
    return bots.LADDER[(level - 1) * len(bots.LADDER) // LEVELS]


def kind_of(player: str | None) -> int:
    """The number of a scripted player, -1 for none.

    Raises:
        UnknownNameError: there is no such player.
    """
    if player is None:
        return -1
    if player not in bots.NAMES:
        raise UnknownNameError("scripted player", player, bots.NAMES)
    return bots.NAMES.index(player)


class Engine:
    """Plays games of the mock, one after the other, frame by frame.

    Game number g is episode g of ``MockMelee(1).reset([seed])`` with the same characters and stage.

    Args:
        seed: 0 to 2**62 - 1.
    """

    def __init__(self, seed: int) -> None:
        self._state = GameState.zeros(1)
        self._memory = records(MEMORY, 1, NUM_SEATS)
        self._bots = np.full((1, NUM_SEATS), -1, np.int8)
        self._bot_memory = records(bots.BOT, 1, NUM_SEATS)
        self._episode = records(EPISODE, 1)
        self._episode["seed"] = seed
        self._tables = load_tables()
        self._inputs = _plain(self._state.controllers)[0]
        self._rows = _plain(self._state.players)[0]
        self._lasers = _plain(self._memory["lasers"])[0]
        self._spare = (records(CONTROLLER, 1, NUM_SEATS), records(CONTROLLER, 1, NUM_SEATS, 1))
        self._sums = np.zeros((1, NUM_SEATS, 2))
        # What a frame reads and writes, without NumPy's record class: Numba looks at that four times as long.
        state = self._state
        played = (self._episode, state.game, state.players, state.controllers, self._memory, self._bot_memory)
        self._played = (*map(_plain, played), type(self._tables)(*map(_plain, self._tables)))

    def start(self, match: Match, number: int) -> None:
        """Set up game ``number``: everything is as on frame 0."""
        for seat, entrant in enumerate(match.entrants):
            self._state.players["character"][0, seat] = entrant.character
            self._bots[0, seat] = kind_of(entrant.player)
        self._state.game["stage"] = match.stage
        self._episode["number"] = number
        chosen, line = self._spare
        start_episode(
            0, self._episode, self._state.game, self._state.players, self._memory, self._state.controllers, chosen,
            line, self._bot_memory, self._sums, self._tables, NO_CAP,
        )  # fmt: skip

    def play(self) -> bool:
        """Play one frame with the inputs; whether the game is over."""
        over: int = play_frame(0, bots.FRAME_SKIP, self._bots, *self._played)
        return over == 1

    def enter(self, seat: int, controller: Controller) -> None:
        """Set the input of a seat."""
        self._inputs[seat] = controller

    def players(self) -> list[Player]:
        """Both PLAYER records, as values."""
        rows: list[Player] = self._rows.tolist()
        return rows

    def controllers(self) -> list[Controller]:
        """Both CONTROLLER records, as values: also what scripted players did."""
        rows: list[Controller] = self._inputs.tolist()
        return rows

    def heights(self) -> tuple[float, ...]:
        """Of Fountain's platforms, left and right, as files record them; () on other stages."""
        if self._state.game["stage"][0] != FOUNTAIN_STAGE:
            return ()
        left, right = recorded_heights(self._state.game)[0].tolist()
        return left, right

    def lasers(self, ports: tuple[int, int]) -> list[Item]:
        """Lasers on their way."""
        found = []
        for seat, count in enumerate(self._lasers.tolist()):
            if not count:
                continue
            own: Any = self._memory[0, seat]
            kind = LASER_ITEMS.get(int(self._rows[seat]["character"]), min(LASER_ITEMS.values()))
            for slot in np.flatnonzero(own.laser_life > 0).tolist():
                moving = (own.laser_speed_x, own.laser_speed_y, own.laser_x, own.laser_y, own.laser_life)
                vx, vy, x, y, timer = (float(values[slot]) for values in moving)
                found.append(Item(kind, vx, vy, x, y, timer, seat * len(own.laser_life) + slot, ports[seat]))
        return found

    def end(self) -> End:
        """How the game ended, if it ends now."""
        return end_of(self._rows["stocks"], self._rows["percent"], timer=True)

    def refill(self) -> None:
        """Give both players all their stocks back."""
        self._rows["stocks"] = STOCKS


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    return array.view(np.ndarray)


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
                entrant.port, EXTERNAL[entrant.character], CPU if entrant.level else HUMAN, STOCKS, 0, "",
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


def warm_up() -> None:
    """Compile the rules, or load them, so that the first game starts at once."""
    engine = Engine(0)
    engine.start(Match((Entrant(0, 1), Entrant(1, 1)), next(iter(_EXTERNAL_STAGES))), 0)
    engine.play()
