"""One game as a page plays it, in Python: the counterpart of ``rules.js``."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.games.errors import ActionError
from selfplay_melee.arrays import STATS, StepOptions, delay_lines, new_games, new_step_arrays
from selfplay_melee.browser.program import LINE
from selfplay_melee.controller import ACTION_SPEC
from selfplay_melee.drawing.items import shots_of
from selfplay_melee.episodes import hold_actions, start_episode, step_games
from selfplay_melee.observation import OBS_WIDTH, encode
from selfplay_melee.state import NUM_SEATS, GameState
from selfplay_melee.tables import load_tables

if TYPE_CHECKING:
    from selfplay_melee.drawing.film import Recorder

FORMAT: Final = 1
"""Of the document of a game, which ``match.js`` writes."""
CHECKED: Final = 60  # frames between two checksums of a document
_UNCHECKED: Final = "memory"  # it has rows of the tables, of which a page has a part only


class PageGame:
    """One game of the mock, which stays at its last frame."""

    def __init__(
        self,
        seed: int,
        stage: int,
        characters: Sequence[int],
        options: StepOptions,
        bots: Sequence[int] = (-1, -1),
        delay: Sequence[int] = (0, 0),
    ) -> None:
        """Start the game.

        Args:
            seed: Of the game.
            stage: As Melee numbers them.
            characters: By seat, as Melee numbers them.
            options: Of all steps.
            bots: By seat, the scripted player; -1: none.
            delay: By seat, frames from seeing to acting.
        """
        self.state = GameState.zeros(1)
        self.state.game["stage"] = stage
        self.state.players["character"] = characters
        self._options, self._tables = options, load_tables()
        self._games = new_games(self.state, np.array([delay], np.int64), LINE)
        self._games.bots[0] = bots
        self._games.episode["seed"] = seed & (2**62 - 1)
        self._out = new_step_arrays(1, OBS_WIDTH)
        self._actions = np.zeros((1, NUM_SEATS, ACTION_SPEC.width), np.int8)
        self._acts = np.zeros((1, NUM_SEATS), np.bool_)
        start_episode(0, self._games, self._tables, options.cap)
        self._out.obs[...], self._games.mirrored[...] = encode(self.state, self._tables, delay_lines(self._games))

    def hold(self, seat: int, action: NDArray[np.int8]) -> None:
        """Set what a seat presses from now on: an action [14] in its own view.

        Raises:
            ActionError: no controller can express it.
        """
        self._actions[0, seat] = action
        self._acts[0] = np.arange(NUM_SEATS) == seat
        if not hold_actions(self._actions, self._acts, self._games):
            raise ActionError(f"no controller can express the action {action.tolist()} of seat {seat}")

    def step(self) -> None:
        """Play one step, ``options.frame_skip`` frames."""
        step_games(self._options, self._games, self._tables, self._out, False)

    @property
    def ended(self) -> bool:
        return bool(self._out.terminated[0] or self._out.truncated[0])

    @property
    def stats(self) -> NDArray[np.void]:
        """STATS [2], of a game that has ended."""
        stats: NDArray[np.void] = self._out.stats[0].view(STATS).copy()
        return stats

    @property
    def score(self) -> tuple[float, float]:
        """Of the seats, of a game that has ended: 1 a win, 0.5 a draw, 0 a loss."""
        return float(self._out.score[0, 0]), float(self._out.score[0, 1])

    def record(self, recorder: Recorder) -> None:
        """Add the current moment to a film."""
        recorder.take(self.state, items=shots_of(self._games.memory[0]))

    def checksum(self) -> int:
        """CRC-32 of what the game remembers, as ``match.js`` makes it: the arrays in the order of their names."""
        crc = 0
        for name, array in sorted(self._games._asdict().items()):
            if name != _UNCHECKED:
                crc = zlib.crc32(array.tobytes(), crc)
        return crc
