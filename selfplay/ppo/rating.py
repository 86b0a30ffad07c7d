"""Rating games of fighting games and solved games: what they are played under, and what the ledger keeps of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from envs.registry import find_game
from selfplay.config.ppo import Config
from selfplay.config.resume import started_with
from selfplay.league.anchors import find_table
from selfplay.league.records import MatchRecord, MatchSeat, Sampling, settings_hash
from selfplay.league.rewards import ENDED, RatedPlayer, RewardRecord
from selfplay.league.schedule import Matchup
from selfplay.runner.match import Contender, MatchResult, Rules, Stats, play

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.checkpoint import RunDir

Play = Callable[[Sequence[Matchup], Mapping[str, Contender], Rules, Callable[[], bool]], Sequence[MatchResult | None]]
"""Plays matchups, see ``match.play``; None stands for one that could not be played."""


@dataclass(frozen=True, slots=True)
class RatingSettings:
    """Characters, rules, anchors and seed of a run's rating games."""

    characters: tuple[str, str]
    rules: Rules
    anchors: tuple[str, ...]  # scripted players and shipped policies, the weakest first
    seed: int

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
        rated = self.rules.rated
        matches = {"characters": sorted(self.characters), **asdict(self.rules)}
        return {name: matches[name] for name in rated.compared} | dict(rated.described)

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
    rules = Rules(game.stage, game.max_episode_frames, game=game.type, ledge_grab_limit=game.ledge_grab_limit)
    scripted = RatingSettings(game.characters, rules, game.entry.ladder, config.run.seed)
    found = find_table(scripted.settings)
    return scripted if found is None else replace(scripted, anchors=found[0].by_strength())


def play_matchups(
    matchups: Sequence[Matchup],
    contenders: dict[str, Contender],
    settings: RatingSettings,
    iteration: int,
    stop: Callable[[], bool] = lambda: False,
    play: Play = play,
) -> list[MatchRecord | RewardRecord]:
    """Play all games of matchups and record those that ``play`` did not give up. Blocks."""
    games = [game for matchup in matchups for game in matchup.games(*settings.bodies)]
    results = play(games, contenders, settings.rules, stop)
    record = _fight_record if find_game(settings.rules.game).fighter else _reward_record
    return [record(result, contenders, settings, iteration) for result in results if result is not None]


def _fight_record(
    result: MatchResult, contenders: Mapping[str, Contender], settings: RatingSettings, iteration: int
) -> MatchRecord:
    matchup = result.matchup
    seats = [
        _seat(contenders[name], settings.rules, character)
        for name, character in zip(matchup.players, matchup.characters, strict=True)
    ]
    return fight_record(seats, result.stats, settings, matchup.seed, iteration)


def fight_record(
    seats: Sequence[MatchSeat], stats: Stats, settings: RatingSettings, seed: int, iteration: int, round: int = 0
) -> MatchRecord:
    """The record of a fight that has just ended, from the counters of both seats [2]."""
    return MatchRecord.played(
        seats=(seats[0], seats[1]),
        seed=seed,
        round=round,
        settings=settings.settings,
        stage=settings.rules.stage,
        stocks=tuple(int(s["stocks"]) for s in stats),
        percents=tuple(float(s["percent"]) for s in stats),
        damage=tuple(float(s["damage"]) for s in stats),
        self_destructs=tuple(int(s["self_destructs"]) for s in stats),
        frames=int(stats[0]["frames"]),
        ended=settings.rules.rated.endings[int(stats[0]["ended"])],
        sampling=settings.sampling,
        iteration=iteration,
        wall=time.time(),
    )


def _seat(contender: Contender, rules: Rules, character: str) -> MatchSeat:
    traits = rules.traits(contender)
    return MatchSeat(
        player=contender.id,
        version=traits.version,
        character=character,
        frame_skip=traits.frame_skip,
        delay=traits.delay,
    )


def _reward_record(
    result: MatchResult, contenders: Mapping[str, Contender], settings: RatingSettings, iteration: int
) -> RewardRecord:
    """The record of a game without characters, see ``ENDED``."""
    one, other = (
        RatedPlayer(player=name, version=settings.rules.traits(contenders[name]).version)
        for name in result.matchup.players
    )
    return RewardRecord.played(
        seats=(one, other),
        partner=None,
        seat=0,
        seed=result.matchup.seed,
        settings=settings.settings,
        rewards=result.score,
        reasons=(ENDED, ENDED),
        payoffs=result.payoffs,
        steps=int(result.stats[0]["frames"]),
        sampling=settings.sampling,
        iteration=iteration,
        wall=time.time(),
    )
