"""The mock, frame by frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from selfplay_melee import bots
from selfplay_melee.arrays import new_games
from selfplay_melee.episodes import play_frame, start_episode
from selfplay_melee.slp.columns import FOUNTAIN_STAGE, recorded_heights
from selfplay_melee.slp.record import LASER_ITEMS, end_of
from selfplay_melee.state import NUM_SEATS, STOCKS, GameState
from selfplay_melee.tables import CHARACTERS, STAGES, load_tables
from tests.support.fake_dolphin.live import Controller, Item, Player
from tests.support.fake_dolphin.match import Entrant, Match, kind_of

if TYPE_CHECKING:
    from selfplay_melee.slp.start import End

NO_CAP: Final = 2**31 - 1


class Engine:
    """Plays games of the mock, one after the other, frame by frame.

    Game number g is episode g of ``MockMelee(1).reset([seed])`` with the same characters and stage.

    Args:
        seed: 0 to 2**62 - 1.
    """

    def __init__(self, seed: int) -> None:
        self._games = new_games(GameState.zeros(1), np.zeros((1, NUM_SEATS), np.int64), 1)
        self._games.episode["seed"] = seed
        self._tables = load_tables()
        self._inputs = self._games.controllers[0]
        self._rows = self._games.players[0]
        self._lasers = self._games.memory["lasers"][0]

    def start(self, match: Match, number: int) -> None:
        """Set up game ``number``: everything is as on frame 0."""
        for seat, entrant in enumerate(match.entrants):
            self._games.players["character"][0, seat] = entrant.character
            self._games.bots[0, seat] = kind_of(entrant.player)
        self._games.game["stage"] = match.stage
        self._games.episode["number"] = number
        start_episode(0, self._games, self._tables, NO_CAP)

    def play(self) -> bool:
        """Play one frame with the inputs; whether the game is over."""
        over: int = play_frame(bots.FRAME_SKIP, self._games, self._tables)
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
        if self._games.game["stage"][0] != FOUNTAIN_STAGE:
            return ()
        left, right = recorded_heights(self._games.game)[0].tolist()
        return left, right

    def lasers(self, ports: tuple[int, int]) -> list[Item]:
        """Lasers on their way."""
        found = []
        for seat, count in enumerate(self._lasers.tolist()):
            if not count:
                continue
            own: Any = self._games.memory[0, seat]
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


def warm_up() -> None:
    """Compile the rules, or load them, so that the first game starts at once."""
    anybody, anywhere = min(CHARACTERS.values()), min(STAGES.values())
    engine = Engine(0)
    engine.start(Match((Entrant(0, anybody), Entrant(1, anybody)), anywhere), 0)
    engine.play()
