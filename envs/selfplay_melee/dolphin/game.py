"""Real Melee as a block of one game, with the state, observations, rewards and ends of the mock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.games.errors import GameError
from selfplay_melee.dolphin.console import Setup
from selfplay_melee.dolphin.install import check_disc, find_executable
from selfplay_melee.dolphin.match import Dolphin
from selfplay_melee.dolphin.roster import CHARACTERS, PLAYERS, Seat, level_of
from selfplay_melee.errors import DolphinError
from selfplay_melee.external_frames import ExternalFramesGame
from selfplay_melee.slp.record import GAME_SET, TIME
from selfplay_melee.tables import STAGES

if TYPE_CHECKING:
    from selfplay.games.api import F32

OTHER: Final = 1  # the seat of a computer player
# Options that ``Setup`` takes as they are.
_SETTINGS: Final = (
    "slot", "slots", "slippi_port", "headless", "fast_forward", "play_on", "start_timeout_s", "frame_timeout_s",
    "recycle_frames", "recycle_mb",
)  # fmt: skip


class DolphinMelee(ExternalFramesGame):
    """One game in Slippi Dolphin (``VectorGame``).

    Seeds only set the length of a staggered first episode, and there are no snapshots. ``reset`` and ``step`` raise a
    DolphinError if Dolphin does not start, dies, hangs or plays another game than asked for; ``reset`` starts over.
    An episode begins at frame 0 (GO), as in the mock.

    Args:
        num_games: 1.
        dolphin: The launcher's folder or the executable.
        iso: The disc image.
        cpu_level: Level of the computer player in seat 1; None: the seat is ours.
        human_port: Port of a person, from 1; the other seat is ours.
        slot: Index of this game among those that run in parallel.
        slots: Number of games that run in parallel.
        slippi_port: UDP port of the first.
        headless: Without picture and sound.
        fast_forward: Faster than the display; ExiAI builds only.
        play_on: After a truncated episode the next continues in the same game, and after a decided game the next starts
            without menus, by libmelee's code for instant matches. So no game is quit.
        replay_dir: Folder for replay files.
        start_timeout_s: Seconds for Dolphin to start, and again for a game to begin.
        frame_timeout_s: Seconds without a frame after which it counts as hung; four times as long while a game loads.
        recycle_frames: Frames after which Dolphin is restarted between two games; 0: never.
        recycle_mb: Megabytes of growth after which Dolphin is restarted; 0: never.
        restarts: Whether the next game begins when one ends, as in ``VectorGame``, or only on ``reset``.
        **options: Settings above that have no parameter here are those of ``Setup``; for others see ``MeleeGame``.

    Raises:
        DolphinError: no Dolphin or no disc is there, or both a computer player and a person are wanted.
    """

    bot_names = PLAYERS
    characters = CHARACTERS

    def __init__(
        self,
        num_games: int = 1,
        *,
        dolphin: str,
        iso: str,
        cpu_level: int | None = None,
        human_port: int | None = None,
        replay_dir: str | None = None,
        restarts: bool = True,
        **options: Any,  # noqa: ANN401
    ) -> None:
        if num_games != 1:
            raise GameError(f"a Dolphin plays one game at a time, not {num_games}")
        if cpu_level is not None and human_port is not None:
            raise DolphinError("the other seat cannot be both a computer player's and a person's")
        settings = {name: options.pop(name) for name in _SETTINGS if name in options}
        super().__init__(restarts=restarts, **options)
        self._cpu_level = cpu_level or 0
        self._stage = next(name for name, number in STAGES.items() if number == self.state.game["stage"][0])
        ports = (1, 2) if human_port is None else tuple(sorted((human_port, 2 if human_port == 1 else 1)))
        self._person = None if human_port is None else ports.index(human_port)
        self.outsider = OTHER if cpu_level else self._person
        self._wanted = self.state.players["character"][0].tolist()
        self._dolphin = Dolphin(
            Setup(
                executable=find_executable(dolphin),
                disc=check_disc(iso),
                paced=human_port is not None,
                replay_dir=None if replay_dir is None else Path(replay_dir),
                **settings,
            ),
            (ports[0], ports[1]),
            self.notes.append,
        )

    def _begin(self) -> None:
        levels = [level_of(int(player)) for player in self.bots[0]]
        if self.outsider is not None and self._person is None:
            levels[self.outsider] = self._cpu_level
        seats = [
            Seat(character, level, person=seat == self._person)
            for seat, (character, level) in enumerate(zip(self._wanted, levels, strict=True))
        ]
        if any(seat.cpu_level and seat.character == CHARACTERS["sheik"] for seat in seats):
            raise DolphinError("a computer player cannot be sheik: the menus would give it zelda")
        self._dolphin.begin(seats, self._stage)
        self.state = self._dolphin.state

    def _frame(self, inputs: NDArray[np.void]) -> bool:
        return self._dolphin.advance(inputs)

    def _is_decided(self) -> bool:
        end = self._dolphin.emulator.reader.end
        return end is not None and end.method in (TIME, GAME_SET)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Empty: a game in Dolphin cannot be saved."""
        return {}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> F32:
        """See ``snapshot``.

        Raises:
            DolphinError: always.
        """
        raise DolphinError("a game in Dolphin cannot be continued from a snapshot")

    def close(self) -> None:
        self._dolphin.close()
