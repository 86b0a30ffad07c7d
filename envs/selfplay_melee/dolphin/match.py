"""Play games on one Dolphin in lock step, one after the other, and restart the emulator from time to time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from melee import Button

from selfplay_melee.dolphin.conversions import differences
from selfplay_melee.dolphin.emulator import Emulator
from selfplay_melee.dolphin.lock_step import count_down
from selfplay_melee.dolphin.menus import Menus, Plan
from selfplay_melee.dolphin.roster import CHARACTERS
from selfplay_melee.errors import DolphinError
from selfplay_melee.physics.actions.death import TIMER
from selfplay_melee.slp.layout import FIRST_FRAME
from selfplay_melee.slp.start import CPU, STAGES, TIMER_S
from selfplay_melee.state import NUM_SEATS, STOCKS
from selfplay_melee.tables import STAGES as STAGE_NUMBERS

if TYPE_CHECKING:
    from selfplay_melee.dolphin.console import Setup
    from selfplay_melee.dolphin.frames import FrameReader
    from selfplay_melee.dolphin.roster import Seat
    from selfplay_melee.slp.start import Start
    from selfplay_melee.state import GameState

MEMORY_FRAMES: Final = 1800  # between two checks of the memory during a game
ENDING: Final = 1200  # maximum number of frames after a game is decided
QUIT_S: Final = 3.0  # timeout for leaving a game
_BEAT_S: Final = 0.02  # between two inputs to a paused game


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
        notify: Receives a message at a restart.
    """

    def __init__(self, setup: Setup, ports: tuple[int, int], notify: Callable[[str], object]) -> None:
        self._setup = setup
        self._ports = ports
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
        self.emulator.release()
        self._over = False
        pads = enumerate(self._pads_of)
        if self._setup.recycle_mb and self._age.megabytes is None:
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
        self._age = _Age(self._setup.recycle_frames * part or float("inf"), renewed=True)

    def _is_old(self) -> bool:
        age = self._age
        frames = self.emulator.reader.frames
        if frames >= age.limit:
            self._notify(f"Dolphin is replaced by a fresh one after {frames:,} frames")
            return True
        return self._is_too_big()

    def _is_too_big(self) -> bool:
        age, limit = self._age, self._setup.recycle_mb
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
        emulator.release()
        while True:
            state = emulator.menu_step()
            if emulator.has_begun:
                break
            if menus.press(state) or emulator.prompted:
                emulator.release()
                emulator.settle()
        reader = emulator.reader
        if state is not None and reader.frame == reader.first:
            first, second = self._ports
            for wrong in differences(reader.state, (first - 1, second - 1), state, emulator.console.zero_indices):
                raise DolphinError(f"this version of libmelee reads the game differently: {wrong}")
        return menus.have_chosen


def check_game(reader: FrameReader, ports: tuple[int, int], seats: Sequence[Seat], stage: str) -> None:
    """Check that a game that has just begun is the one that was asked for.

    Args:
        reader: Of its first frames.
        ports: Expected ports, from 1.
        seats: Expected players.
        stage: Expected stage, by name.

    Raises:
        DolphinError: it is not; names the expected and the actual value.
    """
    start = reader.start
    if start is None or reader.first != FIRST_FRAME:
        raise DolphinError(f"the game began at frame {reader.first}, not at {FIRST_FRAME}")
    if tuple(port.port for port in start.ports) != tuple(port - 1 for port in ports):
        began = ", ".join(str(port.port + 1) for port in start.ports)
        raise DolphinError(f"the game began with ports {began}, {ports[0]}, {ports[1]} were asked for")
    number = STAGES.get(start.stage, -1)
    if number != STAGE_NUMBERS[stage]:
        raise DolphinError(f"the game began on {_name(STAGE_NUMBERS, number)}, {stage} was asked for")
    for wrong in _rules(start, stage):
        raise DolphinError(f"the game began with {wrong}; set the game's rules back, or use another build or disc")
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


def _rules(start: Start, stage: str) -> Iterator[str]:
    """Differences from tournament rules, which policies and the mock use: actual and expected values."""
    stocks = [port.stocks for port in start.ports]
    if start.mode != "stock" or set(stocks) != {STOCKS}:
        yield f"{start.mode} mode and {', '.join(map(str, stocks))} stocks, stock mode and {STOCKS} were asked for"
    if start.timer_s != TIMER_S:
        timer = f"a timer of {start.timer_s} s" if start.timer_s else "no timer"
        yield f"{timer}, one of {TIMER_S} s was asked for"
    if start.items:
        yield "items, none were asked for"
    if stage == "pokemon_stadium" and not start.frozen_stadium:
        yield "a stadium that changes, a frozen one was asked for (Slippi 3.19 and newer have it)"


def _name(names: dict[str, int], number: int) -> str:
    return next((name for name, value in names.items() if value == number), f"number {number}")


def end_game(emulator: Emulator) -> bool:
    """Leave a game in progress: play a decided game to its end, quit any other.

    Returns:
        Whether that worked.

    Raises:
        DolphinError: Dolphin has died, hangs, or sends what cannot be read.
    """
    emulator.release()
    if emulator.reader.end is not None or (emulator.reader.state.players["stocks"] <= 0).any():
        return any(not emulator.advance() for _ in range(ENDING))
    return _quit(emulator)


def _quit(emulator: Emulator) -> bool:
    """Pause, then press L, R, A and start. A paused game sends no frames, so this is timed by the clock."""
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
