"""Files of recorded games: JSON lines, one game a line. A game repeats itself from its seed and its actions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from pydantic import BaseModel, Field

from selfplay.checkpoint.documents import decode_json, parse
from selfplay.errors import ConfigError, CorruptError
from selfplay.files import read_file
from selfplay.games.api import MOST_CHOICES
from selfplay.games.errors import GameError
from selfplay.games.registry import find_game
from selfplay.games.vector import SyncVectorGame
from selfplay.imitation.batches import Examples
from selfplay.imitation.recordings import MAX_NAME, Game, Progress, Recordings, plain_name

if TYPE_CHECKING:
    from selfplay.games.api import F32, Bool

MAX_BYTES: Final = 2**25  # of a file; its decisions take a multiple of that in memory
Part = Annotated[int, Field(ge=0, lt=MOST_CHOICES)]
Chosen = Part | tuple[Part, ...]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class RecordedGame(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """A line. ``actions`` are those of both seats in each step, lists where an action has several parts."""

    game: Name
    version: int  # of the game
    seed: Annotated[int, Field(ge=0, lt=2**31)]  # that the game was reset with
    players: tuple[Name, Name]  # of the seats
    actions: tuple[tuple[Chosen, Chosen], ...]  # 0 in each part of a seat that waits
    rewards: tuple[float, float]  # sums of the seats


@dataclass(frozen=True, slots=True)
class RecordedSeat:
    """A player, and the number of its decisions."""

    seat: int
    name: str
    rows: int


class RecordedGames(Recordings):
    """The games of a file, which are played again by ``scan`` and kept in memory.

    Seats are those of ``player``, a name or the number 1 or 2. Stops after ``max_games`` usable games.
    """

    what = "recorded games"

    def __init__(self, path: Path, game: str, player: str | None = None, max_games: int | None = None) -> None:
        super().__init__(path, player)
        self._game, self._max_games = game, max_games
        self._made: dict[Path, list[Examples]] = {}

    def scan(self, progress: Progress = lambda done, total: None) -> tuple[Game, ...]:
        """Find the games. Those that go another way are listed in ``bad``."""
        kind = find_game(self._game)
        if (make := kind.single) is None:
            raise ConfigError(f"--game-type {self._game}: its games cannot be recorded")
        block = Again(lambda: make(False), 1)
        lines = read_file(self.folder, MAX_BYTES, ConfigError, follow=True).splitlines()
        games: list[Game] = []
        self.bad, self.unwanted, self._others = [], 0, set()
        for number, line in enumerate(lines, 1):
            progress(number - 1, len(lines))
            place = Path(f"{self.folder}:{number}")
            record = _read(line, str(place))
            if (record.game, record.version) != (self._game, kind.encoder_version):
                raise ConfigError(
                    f"{place}: a game of {record.game}, version {record.version}; "
                    f"wanted is {self._game}, version {kind.encoder_version}"
                )
            try:
                both = examples_of(block, record)
            except GameError as error:
                self.bad.append((place, str(error)))
                continue
            seats = tuple(RecordedSeat(i, name[:MAX_NAME], len(both[i])) for i, name in enumerate(record.players))
            seats = self._selected([seat for seat in seats if seat.rows], self._wants, lambda seat: seat.name)
            if seats:
                self._made[place] = [both[seat.seat] for seat in seats]
                games.append(Game(place, str(record.seed), seats))
            if len(games) == self._max_games:
                break
        block.close()
        self.games = tuple(games)
        if not games:
            raise self._nothing(len(lines))
        return tuple(games)

    def load(self, game: Game) -> list[Examples]:
        return self._made[game.path]

    def _wants(self, seat: RecordedSeat) -> bool:
        wanted = self._player
        return wanted is None or wanted == str(seat.seat + 1) or plain_name(seat.name) == plain_name(wanted)


class Again(SyncVectorGame):
    """A block whose games are reset with the seeds as they are."""

    def _seed(self, b: int) -> int:
        return int(self._seeds[b])


def examples_of(block: SyncVectorGame, record: RecordedGame) -> list[Examples]:
    """The decisions of both seats where they had a choice, from a game that is played again in a block of one.

    GameError if it goes another way than in the record, or fails, or has no such decision.
    """
    try:
        actions = np.array(record.actions, np.int64).reshape(len(record.actions), 1, 2, -1)
    except ValueError as error:
        raise GameError("it has no actions, or of different lengths") from error
    seen: list[F32] = []
    allowed: list[Bool] = []
    over, obs = False, block.reset(np.array([record.seed], np.uint64))
    for step in actions:
        if over:
            raise GameError(f"it is over after step {len(seen)} of {len(actions)}")
        seen.append(obs[0].copy())
        allowed.append(block.legal[0].copy())
        batch = block.step(step)
        obs, over = batch.obs, bool(batch.ended[0])
    if not over:
        raise GameError(f"it is not over after its {len(actions)} steps")
    rewards = batch.stats["reward_payoff"][0]
    if not np.allclose(rewards, record.rewards, rtol=1e-6, atol=1e-9):
        raise GameError(f"it ends with the rewards {rewards.tolist()}, not {list(record.rewards)}")
    legal = np.array(allowed)
    decides = block.actions.choices(legal)
    if not decides.any() or not np.isfinite(seen).all():
        raise GameError("nobody has a choice in it, or an observation is not finite")
    made = []
    for seat, rows in enumerate(decides.T):
        action = actions[rows, 0, seat]
        last = np.roll(action, 1, 0)
        last[:1] = 0
        steps = np.flatnonzero(rows).astype(np.int32)
        fresh = np.arange(len(steps)) == 0
        made.append(Examples(np.array(seen)[rows, seat], action, last, steps, fresh, legal[rows, seat]))
    return made


def _read(line: bytes, place: str) -> RecordedGame:
    try:
        return parse(RecordedGame, decode_json(line, place), place, CorruptError)
    except CorruptError as error:
        raise ConfigError(str(error)) from error
