"""The mock, frame by frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from envs.melee import bots
from envs.melee.dolphin.stand_in.match import Entrant, Match, kind_of
from envs.melee.episodes import EPISODE, play_frame, start_episode
from envs.melee.physics.memory import MEMORY
from envs.melee.slp.columns import FOUNTAIN_STAGE, recorded_heights
from envs.melee.slp.live import Controller, Item, Player
from envs.melee.slp.record import LASER_ITEMS, end_of
from envs.melee.state import CONTROLLER, NUM_SEATS, STOCKS, GameState, records
from envs.melee.tables import CHARACTERS, STAGES, load_tables

if TYPE_CHECKING:
    from envs.melee.slp.start import End

NO_CAP: Final = 2**31 - 1


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


def warm_up() -> None:
    """Compile the rules, or load them, so that the first game starts at once."""
    anybody, anywhere = min(CHARACTERS.values()), min(STAGES.values())
    engine = Engine(0)
    engine.start(Match((Entrant(0, anybody), Entrant(1, anybody)), anywhere), 0)
    engine.play()
