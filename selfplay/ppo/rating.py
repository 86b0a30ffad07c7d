"""Rating games of games with actions by number: what they are played under, and their records."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from selfplay.config.ppo import Config
from selfplay.config.resume import started_with
from selfplay.league.anchors import find_table
from selfplay.league.records import GameRecord, Sampling, Seat, settings_hash
from selfplay.league.schedule import Matchup
from selfplay.runner.match import Contender, MatchResult, Rules, Stats, payoffs, play

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.checkpoint import RunDir

PlayMatches = Callable[
    [Sequence[Matchup], Mapping[str, Contender], Rules, Callable[[], bool]], Sequence[MatchResult | None]
]
"""Plays matchups, see ``match.play``; None stands for one that could not be played."""


@dataclass(frozen=True, slots=True)
class RatingSettings:
    """Rules, anchors and seed of a run's rating games."""

    rules: Rules
    anchors: tuple[str, ...] = ()  # scripted players and shipped policies, the weakest first
    seed: int = 0

    @property
    def games_each(self) -> int:
        """Games of a fixture: both seats, with all assignments of roles."""
        return 2 * len(self.rules.conditions.roles)

    @property
    def described(self) -> dict[str, JsonValue]:
        """Everything that makes games comparable."""
        rules = self.rules
        return rules.conditions.described() | dict(rules.rated.described) | rules.objective.described()

    @property
    def settings(self) -> str:
        return settings_hash(self.described)

    @property
    def group(self) -> str:
        return f"{self.settings}/{self.sampling}"

    @property
    def sampling(self) -> Sampling:
        return "greedy" if self.rules.greedy else "stochastic"


def config_of(run: RunDir) -> Config:
    """Configuration that a run was started with, see ``started_with``."""
    return started_with(run, Config)


def settings_of(config: Config) -> RatingSettings:
    game = config.game
    rules = Rules(game.type, game.body.conditions)
    scripted = RatingSettings(rules, game.kind.ladder_of(game.body), config.run.seed)
    found = find_table(scripted.settings)
    return scripted if found is None else replace(scripted, anchors=found[0].by_strength())


def play_matchups(
    matchups: Sequence[Matchup],
    contenders: dict[str, Contender],
    settings: RatingSettings,
    iteration: int,
    stop: Callable[[], bool] = lambda: False,
    play: PlayMatches = play,
) -> list[GameRecord]:
    """Play all games of matchups and record those that ``play`` did not give up. Blocks."""
    games = [game for matchup in matchups for game in matchup.games(settings.rules.conditions.roles)]
    results = play(games, contenders, settings.rules, stop)
    return [_record(result, contenders, settings, iteration) for result in results if result is not None]


def _record(
    result: MatchResult, contenders: Mapping[str, Contender], settings: RatingSettings, iteration: int
) -> GameRecord:
    matchup, traits = result.matchup, settings.rules.traits
    one, other = (Seat(player=name, version=traits(contenders[name]).version) for name in matchup.players)
    ended = (result.stats, result.score[0])
    return record_of((one, other), matchup.roles, *ended, settings, matchup.seed, iteration)


def record_of(
    seats: tuple[Seat, Seat],
    roles: tuple[str, ...],
    stats: Stats,
    score: float,
    settings: RatingSettings,
    seed: int,
    iteration: int,
    round: int = 0,
) -> GameRecord:
    """The record of a game that has just ended, from the counters of both seats [2] and the score of seat 0."""
    conditions = settings.rules.conditions
    return GameRecord.played(
        seats=seats,
        place=roles,
        seed=seed,
        round=round,
        settings=settings.settings,
        game=settings.rules.game,
        score=float(conditions.scores(stats, np.asarray(score))),
        rewards=payoffs(stats),
        **settings.rules.objective.recorded(),
        facts=conditions.facts(roles, stats),
        steps=int(stats["frames"][0]),
        sampling=settings.sampling,
        iteration=iteration,
        wall=time.time(),
    )
