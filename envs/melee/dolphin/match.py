"""Games on one Dolphin, one after the other: begun as asked, in lock step, ended, and the emulator renewed in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from envs.errors import DolphinError
from envs.melee.dolphin.agreed import check_game
from envs.melee.dolphin.conversions import differences
from envs.melee.dolphin.emulator import Emulator
from envs.melee.dolphin.leaving import leave
from envs.melee.dolphin.lock_step import count_down
from envs.melee.dolphin.menus import Menus, Plan
from envs.melee.state import NUM_SEATS, STOCKS
from envs.melee.tables import STAGES as STAGE_NUMBERS

if TYPE_CHECKING:
    from envs.melee.dolphin.console import Setup
    from envs.melee.dolphin.roster import Seat
    from envs.melee.state import GameState


@dataclass(frozen=True, slots=True)
class Recycling:
    """When a Dolphin is replaced by a fresh one, between two games. 0: never."""

    frames: int = 0  # since it was started; the first time sooner, by slot, so that not all are replaced at once
    megabytes: int = 0  # by which its processes grew since their first game


@dataclass
class _Age:
    """Of the emulator that runs."""

    limit: float = float("inf")  # frames
    megabytes: float | None = None  # in its first game
    renewed: bool = False  # whether there was one at all


class Dolphin:
    """Plays games of two on an emulator that it starts when it is first needed.

    Args:
        setup: How it is run.
        ports: Of seat 0 and seat 1, from 1, rising.
        recycling: When it is renewed.
        tell: Is told of that.
    """

    def __init__(
        self, setup: Setup, ports: tuple[int, int], recycling: Recycling, tell: Callable[[str], object] = lambda _: None
    ) -> None:
        self._setup = setup
        self._ports = ports
        self._recycling = recycling
        self._tell = tell
        self._emulator: Emulator | None = None
        self._pads_of: tuple[int | None, ...] = ()  # place of each seat's pad; None: a person
        self._over = True
        self._asked: tuple[tuple[Seat, ...], str] | None = None  # of the last game
        self._age = _Age()

    @property
    def emulator(self) -> Emulator:
        """The one that runs.

        Raises:
            DolphinError: no game was begun.
        """
        if self._emulator is None:
            raise DolphinError("no game was begun")
        return self._emulator

    @property
    def state(self) -> GameState:
        """Of the last frame."""
        return self.emulator.reader.state

    def begin(self, seats: Sequence[Seat], stage: str) -> None:
        """Begin a new game and play its countdown: ``state`` is that of frame 0, the next inputs are frame 1's.

        Raises:
            DolphinError: see ``advance``; or it plays something else than it was told, or does not start.
        """
        try:
            self._begin(seats, stage)
        except DolphinError:
            self.close()
            raise

    def _begin(self, seats: Sequence[Seat], stage: str) -> None:
        if self._emulator is not None and not self._over and not leave(self.emulator):
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
        seat = next((s for s, p in enumerate(self._pads_of) if p is not None and not seats[s].cpu_level), None)
        count_down(self.emulator, seat, None if seat is None else self._pads_of[seat])

    def advance(self, inputs: np.ndarray[tuple[int, ...], np.dtype[np.void]]) -> bool:
        """Play one frame with the CONTROLLER records of both seats [P]; False where the game is over instead.

        Raises:
            DolphinError: Dolphin has died, hangs, or sends what cannot be read. It is stopped, and ``begin`` starts
                another.
        """
        emulator = self.emulator
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
        """Stop the emulator."""
        if self._emulator is not None:
            self._emulator.stop()
        self._emulator, self._over = None, True

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
        """Whether the emulator shall be renewed; asked between two games."""
        age, limit = self._age, self._recycling.megabytes
        frames = self.emulator.reader.frames
        if frames >= age.limit:
            self._tell(f"Dolphin is replaced by a fresh one after {frames:,} frames")
            return True
        if not limit:
            return False
        used = self.emulator.memory_mb()
        if age.megabytes is None:
            age.megabytes = used
        if used - age.megabytes <= limit:
            return False
        self._tell(f"Dolphin is replaced by a fresh one: it grew from {age.megabytes:,.0f} to {used:,.0f} MB")
        return True

    # ---------------------------------------------------------------- menus

    def _is_the_same(self, seats: Sequence[Seat], stage: str) -> bool:
        """Whether a game that began by itself, without menus, may be the one that was asked for."""
        stocks = self.emulator.reader.state.players["stocks"]
        return self._asked in (None, (tuple(seats), stage)) and bool((stocks == STOCKS).all())  # sudden death has one

    def _reach_game(self, seats: Sequence[Seat], stage: str) -> bool:
        """To the first frame of a game; whether it was chosen in the menus."""
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
            yield from differences(reader.state, self._zero_based(), state, console.zero_indices)

    def _zero_based(self) -> tuple[int, int]:
        first, second = self._ports
        return first - 1, second - 1
