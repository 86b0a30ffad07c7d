"""The real game as a block of one: the same state, observations, rewards and ends as the mock's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from envs.errors import DolphinError, GameError
from envs.melee.dolphin.console import Setup
from envs.melee.dolphin.install import SLIPPI_PORT, check_disc, find_executable
from envs.melee.dolphin.match import Dolphin, Recycling
from envs.melee.dolphin.roster import CHARACTERS, PLAYERS, Seat, level_of
from envs.melee.slp.record import GAME_SET, TIME
from envs.melee.tables import STAGES
from envs.melee.watched import WatchedGame

if TYPE_CHECKING:
    from envs.api import F32

OTHER: Final = 1  # the seat of a computer player


class DolphinMelee(WatchedGame):
    """One game in Slippi Dolphin (``VectorGame``).

    What cannot be had from the real game: seeds decide nothing but the length of the first episode, and there are no
    snapshots. ``reset`` and ``step`` raise a DolphinError where Dolphin does not start, dies, hangs or plays something
    else than it was told; ``reset`` then begins anew. An episode begins at frame 0 (GO), as the mock's does.

    Args:
        num_games: 1.
        dolphin: The launcher's folder or the executable.
        iso: The disc image.
        cpu_level: Level of the computer player in seat 1; None: the seat is ours.
        human_port: Port of a person, from 1; the other seat is ours.
        slot: Number of this game among those that run side by side, and
        slots: how many these are.
        slippi_port: UDP port of the first.
        headless: Without picture and sound.
        fast_forward: Faster than it could be shown; ExiAI builds alone can.
        replay_dir: Folder for replay files.
        start_timeout_s: Seconds in which a Dolphin must have started, and again in which a game must have begun.
        frame_timeout_s: Seconds without a frame after which it counts as hung; while a game loads four times as long.
        recycle_frames: Frames after which it is replaced by a fresh one, between two games; 0: never.
        recycle_mb: Megabytes by which it may grow until then; 0: any.
        restarts: Whether the next game begins when one ends, as ``VectorGame`` has it, or only when it is ``reset``.
        **options: See ``Fight``.

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
        slot: int = 0,
        slots: int = 1,
        slippi_port: int = SLIPPI_PORT,
        headless: bool = False,
        fast_forward: bool = False,
        replay_dir: str | None = None,
        start_timeout_s: float = 60.0,
        frame_timeout_s: float = 5.0,
        recycle_frames: int = 0,
        recycle_mb: int = 0,
        restarts: bool = True,
        **options: Any,  # noqa: ANN401
    ) -> None:
        if num_games != 1:
            raise GameError(f"a Dolphin plays one game at a time, not {num_games}")
        if cpu_level is not None and human_port is not None:
            raise DolphinError("the other seat cannot be both a computer player's and a person's")
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
                slot=slot,
                slots=slots,
                slippi_port=slippi_port,
                headless=headless,
                fast_forward=fast_forward,
                paced=human_port is not None,
                replay_dir=None if replay_dir is None else Path(replay_dir),
                start_timeout_s=start_timeout_s,
                frame_timeout_s=frame_timeout_s,
            ),
            (ports[0], ports[1]),
            Recycling(recycle_frames, recycle_mb),
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
        """Nothing: a game in Dolphin cannot be kept."""
        return {}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> F32:
        """See ``snapshot``.

        Raises:
            DolphinError: always.
        """
        raise DolphinError("a game in Dolphin cannot be continued from a snapshot")

    def close(self) -> None:
        """Stop the emulator."""
        self._dolphin.close()
