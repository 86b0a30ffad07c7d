"""The running program: menus and games, one frame after the other."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.compilation.compile import is_compiled
from selfplay.games.errors import UnknownNameError
from selfplay_melee.episodes import play_frame
from selfplay_melee.rng import mix
from selfplay_melee.slp import layout
from selfplay_melee.tables import CHARACTERS, STAGES
from tests.support.fake_dolphin.engine import Engine, warm_up
from tests.support.fake_dolphin.faults import OLD_VERSION, crash
from tests.support.fake_dolphin.game import MockGame
from tests.support.fake_dolphin.match import kind_of
from tests.support.fake_dolphin.menus import Menus, Scene
from tests.support.fake_dolphin.pads import Pipes
from tests.support.fake_dolphin.pause import Pause
from tests.support.fake_dolphin.saving import Saver
from tests.support.fake_dolphin.say import say
from tests.support.fake_dolphin.screens import RANDOM_STAGE
from tests.support.fake_dolphin.served import ServedGame

if TYPE_CHECKING:
    from tests.support.fake_dolphin.config import Settings
    from tests.support.fake_dolphin.disc import Disc
    from tests.support.fake_dolphin.faults import Faults
    from tests.support.fake_dolphin.journal import Journal
    from tests.support.fake_dolphin.match import Match
    from tests.support.fake_dolphin.server import Spectators

IDLE_PACE: Final = 60.0  # frames a second where nothing else sets the pace
LATE_S: Final = 0.1  # later than that, a paced game does not catch up
GARBAGE: Final = bytes((0xFF, 0xFE)) * 40
TRUNCATED: Final = bytes((layout.POST_FRAME,)) + bytes(10)
BAD_JSON: Final = b'{"type":"game_event","payload":'
LEAK_FRAMES: Final = 100


class Machine:
    """One start of the program.

    Args:
        disc: What to play.
        settings: Of the user folder.
        spectators: Who looks on.
        faults: What goes wrong.
        journal: Is told when a game has begun.

    Raises:
        GameError: a pipe, a name or a replay that there is not.
    """

    def __init__(
        self, disc: Disc, settings: Settings, spectators: Spectators, faults: Faults, journal: Journal
    ) -> None:
        check_disc(disc)
        self._disc = disc
        self._settings = settings
        self._spectators = spectators
        self._faults = faults
        self._journal = journal
        self._pipes = Pipes(settings.pipes, blocking=settings.blocking, first_only=disc.persona == "ishiiruka")
        self._saver = Saver(settings.replay_folder, monthly=settings.monthly)
        self._menus = Menus(self._pipes.pads, settings.people, CHARACTERS[disc.human_character])
        self._engine = Engine(disc.seed)
        self._games = 0
        self._menu_frames = 0
        self._frames = 0
        self._due = time.monotonic()
        self._input_left = False
        self._leaked: list[bytearray] = []
        if not disc.replay:
            if not is_compiled(play_frame):
                say("compiling the rules, for about a minute: nobody may wait that long")
            warm_up()

    def run(self) -> None:
        """Go on for ever."""
        while self._disc.replay:
            self._tick()
            self._play(ServedGame(Path(self._disc.replay)))
            self._menus.enter(Scene.RESULTS)
            while self._menus.scene is Scene.RESULTS:
                self._menu_frame()
        while True:
            if (match := self._menu_frame()) is not None:
                self._play_match(match)

    def _tick(self) -> None:
        """Get the input of the next frame, at its time; that which quit a game is also that of the frame after it."""
        if self._input_left:
            self._input_left = False
            return
        in_step = self._pipes.wait(self._spectators.service)
        pace = self._disc.pace or (0.0 if in_step else IDLE_PACE)
        if not pace:
            return
        self._due = max(self._due + 1.0 / pace, time.monotonic() - LATE_S)
        while (left := self._due - time.monotonic()) > 0:
            time.sleep(min(left, 1.0 / IDLE_PACE))
            self._spectators.service()

    def _menu_frame(self) -> Match | None:
        """One frame of the menus; the match that is to begin."""
        self._tick()
        if self._faults.now("menu frame", self._menu_frames) is not None:
            crash()
        self._menu_frames += 1
        match = self._menus.frame()
        if match is None:
            self._pipes.look()
            self._spectators.menu(self._menus.event())
        return match

    def _play_match(self, match: Match) -> None:
        """Play what was chosen, and with Instant Match one game after the other."""
        quit_by = self._play(self._game(match))
        while self._settings.instant_match:
            self._tick()
            stage = match.stage if self._settings.same_stage else RANDOM_STAGE
            quit_by = self._play(self._game(replace(match, stage=stage)))
        self._menus.enter(Scene.RESULTS if quit_by is None else Scene.CHARACTERS)

    def _game(self, match: Match) -> MockGame:
        """The next game of the mock."""
        number, version = self._games, self._disc.version
        self._games += 1
        stages = sorted(STAGES.values())
        if match.stage == RANDOM_STAGE:
            match = replace(match, stage=stages[mix(mix(self._disc.seed, number), 1) % len(stages)])
        fault = self._faults.now("game", number)
        first, second = match.entrants
        if fault == "wrong_stage":
            match = replace(match, stage=_following(match.stage, stages))
        elif fault == "wrong_character":
            other = _following(first.character, sorted(CHARACTERS.values()))
            match = replace(match, entrants=(replace(first, character=other), second))
        elif fault == "old_version":
            version = OLD_VERSION
        people = (
            replace(entrant, player=self._disc.human) if entrant.port in self._settings.people else entrant
            for entrant in match.entrants
        )
        first, second = people
        match = replace(match, entrants=(first, second))
        return MockGame(self._engine, match, number, version, endless=self._settings.infinite_time)

    def _play(self, game: MockGame | ServedGame) -> int | None:
        """Play a game to its end; the port of who quit, if somebody did."""
        self._spectators.begin_game()
        self._saver.begin()
        for events in game.opening:
            self._show(events)
        pads = self._pipes.pads
        pause = Pause({port: pad for port, pad in pads.items() if port in game.ports})
        quit_by = None
        while not game.over:
            self._tick()
            if pause.stops(game.number):
                quit_by = pause.quit_by
                if quit_by is not None:
                    self._input_left = True
                    break
                continue
            self._go_wrong(self._faults.now("frame", game.number + 1))
            frame = self._frame(game)
            self._pipes.look()
            self._show(frame)
            if game.number == 1:
                self._journal.note("playing")
        if ending := game.ending(quit_by):
            self._show(ending)
        self._spectators.end_game()
        self._saver.end(game)
        return quit_by

    def _show(self, events: bytes) -> None:
        self._spectators.game(events)
        self._saver.add(events)

    def _frame(self, game: MockGame | ServedGame) -> bytes:
        """The next frame; in rollback mode a wrong guess goes before it."""
        self._frames += 1
        self._leak()
        every = self._disc.rollback_every
        if not every or self._frames % every or not isinstance(game, MockGame):
            return game.frame(self._pipes.pads)
        guess = game.guess()
        events = game.frame(self._pipes.pads)
        self._show(guess)
        self._tick()
        return events

    def _leak(self) -> None:
        if self._disc.leak_mb_per_1000_frames and self._frames % LEAK_FRAMES == 0:
            size = int(self._disc.leak_mb_per_1000_frames * 1e6 * LEAK_FRAMES / 1000)
            self._leaked.append(bytearray(b"\1") * size)  # written to, so that it is really taken

    def _go_wrong(self, fault: str | None) -> None:
        """Do what a fault of a frame is."""
        match fault:
            case "crash":
                crash()
            case "hang":
                while True:
                    time.sleep(1.0 / IDLE_PACE)
                    self._spectators.service()  # a Dolphin whose game hangs still answers
            case "disconnect":
                self._spectators.disconnect()
            case "garbage":
                self._spectators.game(GARBAGE, keep=False)
            case "truncated":
                self._spectators.game(TRUNCATED, keep=False)
            case "bad_json":
                self._spectators.raw(BAD_JSON)


def check_disc(disc: Disc) -> None:
    """Check what only other modules know.

    Raises:
        GameError: a name or a replay that there is not.
    """
    if disc.human_character not in CHARACTERS:
        raise UnknownNameError("human_character", disc.human_character, CHARACTERS)
    kind_of(disc.human)
    if disc.replay:
        ServedGame(Path(disc.replay))


def _following(number: int, numbers: list[int]) -> int:
    """The next of some numbers, the first after the last."""
    return numbers[(numbers.index(number) + 1) % len(numbers)]
