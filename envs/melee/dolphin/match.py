"""Games on one Dolphin, one after the other: begun as asked, in lock step, ended, and the emulator renewed in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from melee import Button

from envs.errors import DolphinError
from envs.melee.controller import NEUTRAL, decode
from envs.melee.dolphin.conversions import differences
from envs.melee.dolphin.emulator import Emulator, Setup
from envs.melee.dolphin.menus import Menus, Plan
from envs.melee.dolphin.roster import CHARACTERS
from envs.melee.slp.layout import FIRST_FRAME
from envs.melee.slp.start import CPU, STAGES
from envs.melee.state import CONTROLLER, NUM_SEATS, STOCKS, records
from envs.melee.tables import STAGES as STAGE_NUMBERS

if TYPE_CHECKING:
    from envs.melee.state import GameState

PULSES: Final = (-110, -90, -70)  # frames of the countdown after which a stick is moved to see when that arrives
LATEST: Final = 12  # frames after a pulse in which it is looked for
ENDING: Final = 1200  # frames that a decided game may still show
QUIT_S: Final = 3.0  # until a game that is to be left counts as one that cannot be
_LONG_QUIET_S: Final = 0.25  # without a message, where nothing else tells that Dolphin waits for us
_BEAT_S: Final = 0.02  # between two inputs to a game that stands still


@dataclass(frozen=True, slots=True)
class Seat:
    """Who plays."""

    character: int  # Melee's internal number
    cpu_level: int = 0  # of the game's own computer player
    person: bool = False  # has a controller of its own, and chooses its character itself


@dataclass(frozen=True, slots=True)
class Recycling:
    """When a Dolphin is replaced by a fresh one, between two games. 0: never."""

    frames: int = 0  # since it was started; the first time sooner, by slot, so that not all are replaced at once
    megabytes: int = 0  # by which its processes grew since their first game


@dataclass
class _Age:
    """Of the emulator that runs."""

    frames: int = 0
    limit: float = float("inf")
    megabytes: float | None = None  # in its first game


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
        self._neutral = records(CONTROLLER, 1)
        decode(NEUTRAL[None], self._neutral)

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
        if self._emulator is not None and not self._over and not self._leave():
            self.close()
        if self._emulator is not None and self._is_old():
            self.close()
        if self._emulator is None:
            self._start(seats)
        if not self._reach_game(seats, stage) and not self._is_the_same(seats, stage):
            self.close()
            self._start(seats)
            self._reach_game(seats, stage)
        self._check_game(seats, stage)
        self._asked = (tuple(seats), stage)
        self.emulator.enter_game()
        for pad in self.emulator.pads:
            pad.release()
        self._over = False
        self._count_down(seats)

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
        self._age.frames += 1
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
        part = 1.0 if self._age.frames else (self._setup.slot + 1) / max(self._setup.slots, 1)
        self._asked = None
        self._age = _Age(limit=self._recycling.frames * part or float("inf"))

    def _is_old(self) -> bool:
        """Whether the emulator shall be renewed; asked between two games."""
        age, limit = self._age, self._recycling.megabytes
        if age.frames >= age.limit:
            self._tell(f"Dolphin is replaced by a fresh one after {age.frames:,} frames")
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
            if menus.press(state):
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

    def _check_game(self, seats: Sequence[Seat], stage: str) -> None:
        """Whether the first frame is of the game that was asked for.

        Raises:
            DolphinError: it is not; says what was asked for and what came.
        """
        reader = self.emulator.reader
        start = reader.start
        if start is None or reader.first != FIRST_FRAME:
            raise DolphinError(f"the game began at frame {reader.first}, not at {FIRST_FRAME}")
        if tuple(port.port for port in start.ports) != self._zero_based():
            began = ", ".join(str(port.port + 1) for port in start.ports)
            raise DolphinError(f"the game began with ports {began}, {self._ports} were asked for")
        number = STAGES.get(start.stage, -1)
        if number != STAGE_NUMBERS[stage]:
            raise DolphinError(f"the game began on {_name(STAGE_NUMBERS, number)}, {stage} was asked for")
        characters = reader.state.players["character"][0].tolist()
        for seat, port, character in zip(seats, start.ports, characters, strict=True):
            if not seat.person and character != seat.character:
                raise DolphinError(
                    f"the game began with {_name(CHARACTERS, character)} on port {port.port + 1}, "
                    f"{_name(CHARACTERS, seat.character)} was asked for"
                )
            if (port.kind == CPU) != (seat.cpu_level > 0):
                kind = "a computer player" if port.kind == CPU else "no computer player"
                raise DolphinError(f"the game began with {kind} on port {port.port + 1}")

    # ---------------------------------------------------------------- countdown

    def _count_down(self, seats: Sequence[Seat]) -> None:
        """Play the frames before 0, in which nobody can act, and bring Dolphin into lock step.

        How many flushes wait unread when a game begins depends on the build: each makes inputs arrive a frame later.
        So a stick is moved where that has no effect, and where it comes too late nothing is sent until nothing comes.
        A build that does not show inputs so early is trusted to fall silent when it waits.

        Raises:
            DolphinError: the game ended, or inputs stay late.
        """
        seat = next((s for s, p in enumerate(self._pads_of) if p is not None and not seats[s].cpu_level), None)
        for pulse in PULSES:
            late = 0 if seat is None else self._lateness(pulse, seat)
            if late == 0 or self.emulator.reader.frame >= 0:
                break
            self._settle(_LONG_QUIET_S)
            if late is None:
                break
        else:
            raise DolphinError(f"inputs arrive {late} frames late")
        while self.emulator.reader.frame < 0:
            self._take(self.emulator.advance())

    def _settle(self, quiet_s: float) -> None:
        reader = self.emulator.reader
        before = reader.frame
        self.emulator.settle(quiet_s)
        self._age.frames += reader.frame - before
        if reader.end is not None:
            self._take(False)

    def _lateness(self, pulse: int, seat: int) -> int | None:
        """Frames by which an input after frame ``pulse`` comes too late; None where it is not seen at all."""
        emulator, place = self.emulator, self._pads_of[seat]
        if place is None:
            return None
        right = self._neutral.copy()
        right["main_x"] = 1.0
        while emulator.reader.frame < pulse:
            self._take(emulator.advance())
        emulator.pads[place].hold(right[0])
        for late in range(LATEST):
            self._take(emulator.advance())
            emulator.pads[place].hold(self._neutral[0])
            if emulator.reader.state.controllers["main_x"][0, seat] > 0.5:
                return late
        return None

    def _take(self, frame_came: bool) -> None:
        self._age.frames += 1
        if not frame_came:
            self._over = True
            raise DolphinError(f"the game ended at frame {self.emulator.reader.frame}, before it had begun")

    # ---------------------------------------------------------------- the end of a game

    def _leave(self) -> bool:
        """Get out of a game that is still there: see it to its end where it is decided, else quit it."""
        emulator = self.emulator
        for pad in emulator.pads:
            pad.release()
        if emulator.reader.end is not None or (emulator.reader.state.players["stocks"] <= 0).any():
            return any(not emulator.advance() for _ in range(ENDING))
        return self._quit()

    def _quit(self) -> bool:
        """Pause, then L, R, A and start at once. A game that stands still sends nothing, so this goes by the clock."""
        emulator = self.emulator
        controllers = [pad.controller for pad in emulator.pads]
        controllers[0].press_button(Button.BUTTON_START)
        emulator.flush()
        deadline = time.monotonic() + QUIT_S
        beats = 0
        while time.monotonic() < deadline:
            if emulator.left_game(_BEAT_S):
                return True
            beats += 1
            press = beats > 10 and beats % 10 > 2
            for button in (Button.BUTTON_L, Button.BUTTON_R, Button.BUTTON_A, Button.BUTTON_START):
                (controllers[0].press_button if press else controllers[0].release_button)(button)
            emulator.flush()
        return False


def _name(names: dict[str, int], number: int) -> str:
    return next((name for name, value in names.items() if value == number), f"number {number}")
