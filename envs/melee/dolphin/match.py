"""Play games on one Dolphin in lock step, one after the other, and restart the emulator from time to time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from envs.errors import DolphinError
from envs.melee.dolphin.conversions import differences
from envs.melee.dolphin.emulator import Emulator
from envs.melee.dolphin.end_game import end_game
from envs.melee.dolphin.game_check import check_game
from envs.melee.dolphin.lock_step import count_down
from envs.melee.dolphin.menus import Menus, Plan
from envs.melee.physics.actions.death import TIMER
from envs.melee.state import NUM_SEATS, STOCKS
from envs.melee.tables import STAGES as STAGE_NUMBERS

if TYPE_CHECKING:
    from envs.melee.dolphin.console import Setup
    from envs.melee.dolphin.roster import Seat
    from envs.melee.state import GameState

MEMORY_FRAMES: Final = 1800  # between two checks of the memory during a game


@dataclass(frozen=True, slots=True)
class Recycling:
    """When a Dolphin is restarted: between two games, because of its memory also within one. 0: never."""

    frames: int = 0  # since its start; fewer for the first one, by slot, so that not all restart at once
    megabytes: int = 0  # of growth since its first game began


@dataclass
class _Age:
    """Age of the running emulator."""

    limit: float = float("inf")  # frames
    megabytes: float | None = None  # when its first game began
    renewed: bool = False  # whether it is not the first emulator


class Dolphin:
    """Plays two-player games on an emulator that is started on first use.

    Args:
        setup: Settings of the emulator.
        ports: Of seat 0 and seat 1, from 1, rising.
        recycling: When it is restarted.
        notify: Receives a message at a restart.
    """

    def __init__(
        self,
        setup: Setup,
        ports: tuple[int, int],
        recycling: Recycling,
        notify: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._setup = setup
        self._ports = ports
        self._recycling = recycling
        self._notify = notify
        self._emulator: Emulator | None = None
        self._pads_of: tuple[int | None, ...] = ()  # place of each seat's pad; None: a person
        self._over = True
        self._is_worn = False  # whether to restart before the next game
        self._asked: tuple[tuple[Seat, ...], str] | None = None  # of the last game
        self._age = _Age()

    @property
    def emulator(self) -> Emulator:
        """The running emulator.

        Raises:
            DolphinError: no game was begun.
        """
        if self._emulator is None:
            raise DolphinError("no game was begun")
        return self._emulator

    @property
    def state(self) -> GameState:
        return self.emulator.reader.state

    def begin(self, seats: Sequence[Seat], stage: str) -> None:
        """Begin a new game and play its countdown: ``state`` is that of frame 0, the next inputs are frame 1's.

        Raises:
            DolphinError: see ``advance``; or it plays another game, or does not start.
        """
        try:
            self._begin(seats, stage)
        except DolphinError:
            self.close()
            raise

    def _begin(self, seats: Sequence[Seat], stage: str) -> None:
        if self._goes_on(seats, stage):
            return
        if self._emulator is not None and not self._over and (self._is_worn or not end_game(self.emulator)):
            self.close()
        if self._emulator is not None and self._is_old():
            self.close()
        if self._emulator is None:
            self._start(seats)
        if not self._reach_game(seats, stage) and not self._is_the_same(seats, stage):
            self.close()
            self._start(seats)
            self._reach_game(seats, stage)
        check_game(self.emulator.reader, self._ports, seats, stage)
        self._asked = (tuple(seats), stage)
        self.emulator.enter_game()
        for pad in self.emulator.pads:
            pad.release()
        self._over = False
        pads = enumerate(self._pads_of)
        if self._recycling.megabytes and self._age.megabytes is None:
            self._age.megabytes = self.emulator.memory_mb()
        count_down(self.emulator, [(s, pad) for s, pad in pads if pad is not None and not seats[s].cpu_level])

    def _goes_on(self, seats: Sequence[Seat], stage: str) -> bool:
        """Whether the next episode continues the game in progress."""
        if not self._setup.play_on or self._over or self._is_worn or self._asked != (tuple(seats), stage):
            return False
        reader = self.emulator.reader
        undecided = reader.end is None and reader.frame < TIMER and (reader.state.players["stocks"] > 0).all()
        return bool(undecided) and not self._is_old()

    def advance(self, inputs: np.ndarray[tuple[int, ...], np.dtype[np.void]]) -> bool:
        """Play one frame with the CONTROLLER records of both seats [P]; False if the game is over instead.

        It also counts as over if Dolphin has grown too large, unless a person plays.

        Raises:
            DolphinError: Dolphin has died, hangs, or sends what cannot be read. It is stopped, and ``begin`` starts
                another.
        """
        emulator = self.emulator
        if emulator.reader.frames % MEMORY_FRAMES == 0 and not self._setup.paced and self._is_too_big():
            self._is_worn = True
            return False
        for place, record in zip(self._pads_of, inputs, strict=True):
            if place is not None:
                emulator.pads[place].hold(record)
        try:
            self._over = not emulator.advance()
        except DolphinError:
            self.close()
            raise
        return not self._over

    def close(self) -> None:
        if self._emulator is not None:
            self._emulator.stop()
        self._emulator, self._over, self._is_worn = None, True, False

    # ---------------------------------------------------------------- the emulator

    def _start(self, seats: Sequence[Seat]) -> None:
        people = [port for seat, port in zip(seats, self._ports, strict=True) if seat.person]
        ours = [port for port in self._ports if port not in people]
        self._pads_of = tuple(ours.index(port) if port in ours else None for port in self._ports)
        self._emulator = Emulator(self._setup, ours, people[0] if people else None)
        part = 1.0 if self._age.renewed else (self._setup.slot + 1) / max(self._setup.slots, 1)
        self._asked = None
        self._age = _Age(self._recycling.frames * part or float("inf"), renewed=True)

    def _is_old(self) -> bool:
        age = self._age
        frames = self.emulator.reader.frames
        if frames >= age.limit:
            self._notify(f"Dolphin is replaced by a fresh one after {frames:,} frames")
            return True
        return self._is_too_big()

    def _is_too_big(self) -> bool:
        age, limit = self._age, self._recycling.megabytes
        if not limit or age.megabytes is None:
            return False
        used = self.emulator.memory_mb()
        if used - age.megabytes <= limit:
            return False
        self._notify(f"Dolphin is replaced by a fresh one: it grew from {age.megabytes:,.0f} to {used:,.0f} MB")
        return True

    # ---------------------------------------------------------------- menus

    def _is_the_same(self, seats: Sequence[Seat], stage: str) -> bool:
        """Whether a game that began without menus can be the one that was asked for."""
        stocks = self.emulator.reader.state.players["stocks"]
        return self._asked in (None, (tuple(seats), stage)) and bool((stocks == STOCKS).all())  # sudden death has one

    def _reach_game(self, seats: Sequence[Seat], stage: str) -> bool:
        """Play until the first frame of a game; whether it was chosen in the menus."""
        emulator = self.emulator
        if emulator.has_begun:
            return False
        plans = [
            Plan(emulator.pads[place], seat.character, seat.cpu_level)
            for seat, place in zip(seats, self._pads_of, strict=True)
            if place is not None
        ]
        plans.sort(key=lambda plan: plan.cpu_level > 0)
        person = len(plans) < NUM_SEATS
        menus = Menus(plans, STAGE_NUMBERS[stage], emulator.helper, person=person)
        emulator.enter_menus(float("inf") if person else self._setup.start_timeout_s)  # people take their time
        for pad in emulator.pads:
            pad.release()
        while True:
            state = emulator.menu_step()
            if emulator.has_begun:
                break
            if menus.press(state) or emulator.prompted:
                for pad in emulator.pads:
                    pad.release()
                emulator.settle()
        for wrong in self._differences(state):
            raise DolphinError(f"this version of libmelee reads the game differently: {wrong}")
        return menus.have_chosen

    def _differences(self, state: Any) -> Iterator[str]:  # noqa: ANN401 # melee.GameState
        reader, console = self.emulator.reader, self.emulator.console
        if state is not None and reader.frame == reader.first:
            first, second = self._ports
            yield from differences(reader.state, (first - 1, second - 1), state, console.zero_indices)
