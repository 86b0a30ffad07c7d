"""Games that were played on a page: their documents, and the same games played again.

``match.js`` of the play page writes the document. Nothing in it is believed: the game is played again from what the
seats held, and must come out as the document says.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, Field, model_validator

from selfplay.checkpoint.documents import decode_json, parse, refuse_newer
from selfplay.compilation.code_cache import sources_hash
from selfplay.compilation.progress import compile_rules
from selfplay.errors import CorruptError, IncompatibleError
from selfplay.files import read_file
from selfplay.games.registry import find_game
from selfplay_melee.arrays import StepOptions
from selfplay_melee.bots import NAMES as BOTS
from selfplay_melee.browser.game import CHECKED, FORMAT, PageGame
from selfplay_melee.controller import ACTION_SPEC, HIGHEST
from selfplay_melee.drawing.film import Recorder
from selfplay_melee.limits import ENDED_BY, MAX_DELAY
from selfplay_melee.physics.actions.death import TIMER
from selfplay_melee.tables import CHARACTERS, STAGES

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay_melee.drawing.film import Film

MAX_BYTES: Final = 2 * 2**20  # both seats change what they hold on every frame of eight minutes
# Controller input of a seat from a frame on, as the seat sees it. Rows are sorted by frame, then by seat.
HELD: Final = np.dtype([("frame", "<u2"), ("seat", "u1"), ("action", "i1", (ACTION_SPEC.width,))])


def _shown(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise ValueError("it has letters that cannot be shown, or none")
    return text


def _one_of(known: Collection[object]) -> AfterValidator:
    def check(value: object) -> object:
        if value not in known:
            raise ValueError(f"{value!r} is none of {', '.join(map(str, known))}")
        return value

    return AfterValidator(check)


Text = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_shown)]
Number = Annotated[float, Field(ge=-1e6, le=1e6)]
Count = Annotated[int, Field(ge=0, le=10**6)]
Delay = Annotated[int, Field(ge=0, le=MAX_DELAY)]
Character = Annotated[int, _one_of(CHARACTERS.values())]


class _Document(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Frozen; unknown fields are errors."""


class Options(_Document):
    """``StepOptions`` of a game whose steps are frames, without rewards."""

    frame_skip: Literal[1]
    bot_skip: Annotated[int, Field(ge=1, le=3600)]
    cap: Annotated[int, Field(ge=1, le=10 * TIMER)]
    ledge_grab_limit: Count


class Person(_Document):
    """A seat of a person."""

    kind: Literal["person"]


class Bot(_Document):
    """A seat of a scripted player."""

    kind: Literal["bot"]
    name: Annotated[str, Field(max_length=64), _one_of(BOTS)]


class PolicySeat(_Document):
    """A seat of a policy."""

    kind: Literal["policy"]
    id: Text
    weights_hash: Text | None = None
    frame_skip: Annotated[int, Field(ge=1, le=60)]
    temperature: Annotated[float, Field(ge=0, le=100)]


Seat = Annotated[Person | Bot | PolicySeat, Field(discriminator="kind")]


class Result(_Document):
    """Result of a game."""

    stocks: tuple[Count, Count]
    percents: tuple[Number, Number]
    winner: Literal[0, 1] | None
    ended: Annotated[str, Field(max_length=64), _one_of(ENDED_BY)] | None  # None: it was stopped


class PlayedGame(_Document):
    """The document of a game. Pairs are in the order of seats."""

    format: Literal[1]
    game: Literal["mock"]
    rules: Text  # ``sources_hash`` where the page was made
    seed: Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,18})$")]
    stage: Annotated[int, _one_of(STAGES.values())]
    characters: tuple[Character, Character]
    names: tuple[Text, Text]
    delay: tuple[Delay, Delay]
    options: Options
    seats: tuple[Seat, Seat]
    frames: Annotated[int, Field(ge=1, le=TIMER)]
    held: str  # HELD [K] in base64
    checksums: tuple[Annotated[int, Field(ge=0, lt=2**32)], ...]  # after each CHECKED frames, and at the end
    result: Result

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file.

        Raises:
            CorruptError: no file, too large, or no document of a game.
            IncompatibleError: a newer version wrote it.
        """
        return cls.parse(read_file(path, MAX_BYTES, follow=True), str(path))

    @classmethod
    def parse(cls, data: bytes, what: str = "the game") -> Self:
        """Read a document; ``what`` names it in messages. Errors as of ``read``."""
        if len(data) > MAX_BYTES:
            raise CorruptError(f"{what}: {len(data)} bytes, a game has at most {MAX_BYTES}")
        document = decode_json(data, what)
        refuse_newer(document.get("format"), FORMAT, what)
        return parse(cls, document, what, CorruptError)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if len(self.checksums) != -(-self.frames // CHECKED):
            raise ValueError(f"{len(self.checksums)} checksums do not belong to {self.frames} frames")
        self.presses()
        return self

    @property
    def people(self) -> tuple[bool, bool]:
        """Which seats people have."""
        first, second = self.seats
        return isinstance(first, Person), isinstance(second, Person)

    def presses(self) -> NDArray[np.void]:
        """HELD [K]; ValueError if it is none that seats can hold."""
        try:
            data = base64.b64decode(self.held, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("held is no base64") from None
        if len(data) % HELD.itemsize:
            raise ValueError(f"held has {len(data)} bytes, which is no multiple of {HELD.itemsize}")
        held = np.frombuffer(data, HELD)
        if len(held):
            place = 2 * held["frame"].astype(np.int64) + held["seat"]
            scripted = [seat for seat, player in enumerate(self.seats) if isinstance(player, Bot)]
            if (held["seat"] > 1).any() or (np.diff(place) <= 0).any() or place[-1] >= 2 * self.frames:
                raise ValueError("held is not in the order of frames and seats, or goes on behind the last frame")
            if np.isin(held["seat"], scripted).any():
                raise ValueError("held has an action of a scripted player")
            if ((held["action"] < 0) | (held["action"] > HIGHEST)).any():
                raise ValueError("held has an action that no controller can express")
        return held


@dataclass(frozen=True, slots=True)
class Replayed:
    """A game that was played again and came out as its document says."""

    film: Film
    stats: NDArray[np.void] | None  # ``selfplay_melee.mock.STATS`` [2]; None: the game was stopped
    score: tuple[float, float] | None  # of the seats: 1 a win, 0.5 a draw, 0 a loss


def replay(game: PlayedGame, what: str = "the game") -> Replayed:
    """Play a game again. Blocks; compiles the rules where they are not. ``what`` names the game in messages.

    Raises:
        IncompatibleError: it does not come out as the document says; says from which second on.
    """
    compile_rules(find_game(game.game))
    bots = [BOTS.index(seat.name) if isinstance(seat, Bot) else -1 for seat in game.seats]
    options = StepOptions(**game.options.model_dump())
    played = PageGame(int(game.seed), game.stage, game.characters, options, bots, game.delay)
    recorder, checksums, held = Recorder(), iter(game.checksums), game.presses()
    first = np.searchsorted(held["frame"], np.arange(game.frames + 1))
    played.record(recorder)
    for frame in range(game.frames):
        for press in held[first[frame] : first[frame + 1]]:
            played.hold(int(press["seat"]), press["action"])
        played.step()
        played.record(recorder)
        last = frame + 1 == game.frames
        if (last or (frame + 1) % CHECKED == 0) and played.checksum() != next(checksums):
            raise _other(game, what, f"it differs from second {frame // CHECKED + 1} on")
        if played.ended and not last:
            raise _other(game, what, f"it ends in second {frame // CHECKED + 1}, before its last frame")
    found = _result(played)
    if found != game.result:
        raise _other(game, what, f"it comes out as {_told(found)}, not as {_told(game.result)}")
    return Replayed(
        recorder.film(" vs ".join(game.names), game.names, game.people),
        played.stats if played.ended else None,
        played.score if played.ended else None,
    )


def _result(played: PageGame) -> Result:
    players, ended, (mine, other) = played.state.players[0], played.ended, played.score
    return Result(
        stocks=tuple(players["stocks"].tolist()),
        percents=tuple(players["percent"].tolist()),
        winner=None if not ended or mine == other else int(other > mine),  # type: ignore[arg-type] # 0 or 1
        ended=ENDED_BY[played.stats["ended"][0]] if ended else None,
    )


def _told(result: Result) -> str:
    percents = " and ".join(f"{percent:.1f}%" for percent in result.percents)
    winner = "no winner" if result.winner is None else f"seat {result.winner} as winner"
    return (
        f"{result.stocks[0]}-{result.stocks[1]} with {percents}, {winner}, ended by {result.ended or 'being stopped'}"
    )


def _other(game: PlayedGame, name: str, what: str) -> IncompatibleError:
    here = sources_hash("selfplay_melee")
    why = "the document was changed" if game.rules == here else f"its rules are version {game.rules}, these are {here}"
    return IncompatibleError(f"{name}, played again, is another game: {what} ({why})")
