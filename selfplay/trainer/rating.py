"""Rating games while training: who plays, within which budget, and into which ledger."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from envs.melee import bots
from envs.melee.mock import ENDED_BY
from envs.melee.physics import RULES_VERSION
from envs.registry import GameEntry, find_game
from selfplay.config import Config
from selfplay.errors import IncompatibleError, RunnerError, boundary
from selfplay.league.anchors import find_table
from selfplay.league.games import Games
from selfplay.league.ledger import Ledger
from selfplay.league.ratings import Ratings, rate
from selfplay.league.records import ANCHOR, MatchRecord, Seat, generation_number, settings_hash
from selfplay.league.schedule import Fixture, plan
from selfplay.policy.policy import refuse_other_games
from selfplay.runner.match import Contender, Pairing, Rules, play
from selfplay.runner.worker import Worker

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.checkpoint import RunDir
    from selfplay.league.rewards import RewardRecord
    from selfplay.supervision import Context


T = TypeVar("T")
Play = Callable[
    [Sequence[Pairing], Mapping[str, Contender], Rules, Callable[[], bool]],
    Sequence[NDArray[np.void] | None] | NDArray[np.void],
]
"""Plays rating games, see ``match.play``; None stands for a game that could not be played."""
WAITING: Final = 10_000  # games that wait for room on the disk at most
RATER_STATE: Final = ("rating_spent", "elo", "gate")
"""What a checkpoint knows of ratings, by the names in its ``extra``."""


class LedgerKeeper:
    """The one owner of a run's ledger: a supervised child, and what others ask of it."""

    def __init__(self, path: Path, keep_rows: int | None = None) -> None:
        """``keep_rows`` drops games behind a checkpoint, for runs that play them again bit for bit."""
        self._path = path
        self._keep_rows = keep_rows
        self._worker: Worker | None = None
        self._ledger: Ledger | None = None
        self._waiting: list[MatchRecord | RewardRecord] = []  # played, but the disk did not take them
        self._open = asyncio.Event()
        self._fitted: tuple[int, dict[str, float]] = (-1, {})  # rows, and what they say of everybody's strength

    async def run(self, ctx: Context) -> None:
        """The child: holds the file open until it is stopped."""
        self._worker = worker = Worker(ctx.id)
        try:
            self._ledger = await worker.submit(Ledger.open, self._path, self._keep_rows)
            self._keep_rows = None  # once: after a crash of this child nothing is lost
            self._open.set()
            ctx.ready()
            await asyncio.Event().wait()
        finally:
            self._open.clear()
            if self._ledger is not None:
                worker.submit(self._ledger.close)
            worker.close()

    @property
    def rows(self) -> int:
        """Games in the ledger."""
        return 0 if self._ledger is None else self._ledger.rows

    async def games(self) -> Games:
        """Columns of all games of the ledger."""
        worker, ledger = await self._opened()
        return await worker.submit(ledger.games)

    async def record(self, records: Sequence[MatchRecord | RewardRecord]) -> None:
        """Append games; returns when the disk has them.

        Raises:
            DiskError: it refused; they are kept, the newest ``WAITING`` of them, and written before the next ones.
        """
        worker, ledger = await self._opened()
        self._waiting = [*self._waiting, *records][-WAITING:]
        await worker.submit(ledger.append, self._waiting)
        self._waiting = []

    async def strengths(self, settings: Rated, generations: Collection[str], run: Path) -> dict[str, float]:
        """Elo of those generations that have rating games; fitted anew only where there are new games."""
        await self._opened()
        rows = self.rows
        if self._fitted[0] != rows:
            self._fitted = rows, await self.work(strengths, await self.games(), settings, run)
        return {name: elo for name, elo in self._fitted[1].items() if name in generations}

    async def work(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:  # noqa: ANN401
        """What a function makes of games, in the one thread that has to do with them.

        Threads of a pool would each keep the memory that such work has once taken.
        """
        worker, _ = await self._opened()
        return await worker.submit(partial(function, *arguments, **named))

    async def _opened(self) -> tuple[Worker, Ledger]:
        await self._open.wait()
        if self._worker is None or self._ledger is None:
            raise RunnerError("the ledger is not open")
        return self._worker, self._ledger


class Rated(Protocol):
    """What decides which games are rated together, and how many a fixture has."""

    @property
    def settings(self) -> str:
        """Hash of everything that makes games comparable."""
        ...

    @property
    def group(self) -> str:
        """The same with how actions are drawn, as ``Games.groups`` has it."""
        ...

    @property
    def games_each(self) -> int:
        """Games of a fixture."""
        ...


@dataclass(frozen=True, slots=True)
class RatingSettings:
    """What rating games of a run are played under."""

    characters: tuple[str, str]
    rules: Rules
    anchors: tuple[str, ...]
    seed: int
    game: str = "mock"

    @property
    def bodies(self) -> tuple[str, str | None]:
        """Character of the learner, and the other one where there are two."""
        mine, other = self.characters
        return mine, None if other == mine else other

    @property
    def games_each(self) -> int:
        """Games of a fixture: both seats, and with two characters both assignments."""
        return 2 if self.bodies[1] is None else 4

    @property
    def described(self) -> dict[str, JsonValue]:
        """Everything that makes games comparable."""
        characters: list[JsonValue] = [*sorted(self.characters)]
        return {
            "characters": characters,
            "stage": self.rules.stage,
            "max_episode_frames": self.rules.max_episode_frames,
            **({"rules": RULES_VERSION} if self.game == "mock" else {"game": self.game}),
            "bots": bots.VERSION,
        }

    @property
    def settings(self) -> str:
        """Its hash."""
        return settings_hash(self.described)

    @property
    def group(self) -> str:
        """See ``Rated``."""
        return f"{self.settings}/{'greedy' if self.rules.greedy else 'stochastic'}"


def config_of(run: RunDir) -> Config:
    """How a run was started.

    Raises:
        SelfPlayError: by a version with other settings.
    """
    with boundary(IncompatibleError, f"{run.path}: its configuration cannot be used"):
        return Config.model_validate(run.read_run()["config"])


def settings_of(config: Config) -> RatingSettings:
    """How rating games of a run outside training are played.

    Raises:
        ConfigError: the run is of a game that is no fight.
    """
    refuse_other_games(config.game.type, "the run")
    game = config.game
    rules = Rules(stage=game.stage, max_episode_frames=game.max_episode_frames)
    return RatingSettings(game.characters, rules, anchors_of(find_game(game.type)), config.run.seed, game.type)


def anchors_of(game: GameEntry) -> tuple[str, ...]:
    """Who is rated beside the generations: the game's ladder, and who fixes the scale wherever fights are rated."""
    return game.ladder if ANCHOR in game.ladder or not game.fighter else (ANCHOR, *game.ladder)


def plan_games(
    games: Games,
    settings: Rated,
    players: Sequence[str],
    budget: int,
    rng: np.random.Generator,
    run: Path | None = None,
) -> list[Fixture]:
    """The fixtures that tell most, for at most ``budget`` games; ``run`` may have a table of anchors."""
    return plan(rated(games, settings, players, run), players, budget, rng, settings.games_each)


def rated(games: Games, settings: Rated, players: Sequence[str], run: Path | None = None) -> Ratings:
    """Ratings under these settings; ``players`` are part of them even without games."""
    group = settings.group
    known = group in games.groups
    table = find_table(settings.settings, run)
    return rate(
        games if known else Games.of([]),
        players=players,
        settings=group if known else None,
        anchors=None if table is None else table[0].elo,
    )


def strengths(games: Games, settings: Rated, run: Path | None = None) -> dict[str, float]:
    """Elo of everybody who has rating games."""
    ratings = rated(games, settings, (), run)
    return {name: float(ratings.elo[i]) for i, name in enumerate(ratings.players) if ratings.games[i]}


def highest(strengths: Mapping[str, float]) -> str | None:
    """The strongest generation, the newest of equals; None where nobody is known."""
    return max(strengths, key=lambda name: (strengths[name], generation_number(name) or 0), default=None)


def play_fixtures(
    fixtures: Sequence[Fixture],
    contenders: dict[str, Contender],
    settings: RatingSettings,
    iteration: int,
    stop: Callable[[], bool] = lambda: False,
    play: Play = play,
) -> list[MatchRecord]:
    """Play fixtures and write down what happened, but for games that ``play`` gave up. Blocks."""
    pairings = [
        Pairing(seating.players, seating.characters, fixture.seed)
        for fixture in fixtures
        for seating in fixture.seatings(*settings.bodies)
    ]
    stats = play(pairings, contenders, settings.rules, stop)
    return [
        MatchRecord.played(
            seats=(_seat(contenders[g.players[0]], g.characters[0]), _seat(contenders[g.players[1]], g.characters[1])),
            seed=g.seed,
            settings=settings.settings,
            stage=settings.rules.stage,
            stocks=tuple(int(s["stocks"]) for s in row),
            percents=tuple(float(s["percent"]) for s in row),
            damage=tuple(float(s["damage"]) for s in row),
            self_destructs=tuple(int(s["self_destructs"]) for s in row),
            frames=int(row[0]["frames"]),
            ended=ENDED_BY[int(row[0]["ended"])],
            sampling="greedy" if settings.rules.greedy else "stochastic",
            iteration=iteration,
            wall=time.time(),
        )
        for g, row in zip(pairings, stats, strict=True)
        if row is not None
    ]


def _seat(contender: Contender, character: str) -> Seat:
    return Seat(
        player=contender.id,
        version=contender.version,
        character=character,
        frame_skip=contender.frame_skip,
        delay=contender.delay,
    )


class RatingBudget:
    """How many games may be played now, so that rating takes no more than its share.

    Two clocks: seconds, or, where runs must be equal, frames of play at the longest that a game can take.
    """

    def __init__(self, share: float, cap_frames: int, *, by_frames: bool, cost_s: float = 0.05) -> None:
        """``cost_s``: seconds that a game is thought to take before any was played."""
        self._share = share
        self._cap_frames = cap_frames
        self._by_frames = by_frames
        self._cost = float(cap_frames) if by_frames else cost_s  # of a game, in the clock's unit; measured as it goes
        self.spent = 0.0

    def games(self, elapsed_s: float, frames: int, part: float = 1.0) -> int:
        """Games that fit now; ``part`` keeps some of the share for later."""
        total = float(frames) if self._by_frames else elapsed_s
        return max(0, int((self._share * part * total - self.spent) / self._cost))

    def pay(self, games: int, seconds: float) -> None:
        """Count a batch of games."""
        if self._by_frames:
            self.spent += games * self._cap_frames
        else:
            self.spent += seconds
            self._cost = 0.5 * self._cost + 0.5 * seconds / max(games, 1)
