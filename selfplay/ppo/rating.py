"""Rating games of games with actions by number: what they are played under, and their records."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from selfplay.config.ppo import Config
from selfplay.config.resume import started_with
from selfplay.games.rated import FINISHED
from selfplay.games.registry import find_game
from selfplay.league.anchors import find_table
from selfplay.league.records import Facts, GameRecord, Sampling, Seat, settings_hash
from selfplay.league.schedule import Matchup
from selfplay.runner.match import Contender, MatchResult, Rules, Stats, fight_scores, play

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.checkpoint import RunDir

PlayMatches = Callable[
    [Sequence[Matchup], Mapping[str, Contender], Rules, Callable[[], bool]], Sequence[MatchResult | None]
]
"""Plays matchups, see ``match.play``; None stands for one that could not be played."""


@dataclass(frozen=True, slots=True)
class RatingSettings:
    """Rules, anchors and seed of a run's rating games; in fights also the characters."""

    rules: Rules
    anchors: tuple[str, ...] = ()  # scripted players and shipped policies, the weakest first
    seed: int = 0
    characters: tuple[str, str] = ("", "")

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
    scripted = RatingSettings(rules, game.entry.ladder, config.run.seed, game.characters)
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
    games = [game for matchup in matchups for game in matchup.games(*settings.bodies)]
    results = play(games, contenders, settings.rules, stop)
    return [_record(result, contenders, settings, iteration) for result in results if result is not None]


def _record(
    result: MatchResult, contenders: Mapping[str, Contender], settings: RatingSettings, iteration: int
) -> GameRecord:
    matchup, rules = result.matchup, settings.rules
    one, other = (Seat(player=name, version=rules.traits(contenders[name]).version) for name in matchup.players)
    if find_game(rules.game).fighter:
        return fight_record((one, other), matchup.characters, result.stats, settings, matchup.seed, iteration)
    return GameRecord.played(
        seats=(one, other),
        seed=matchup.seed,
        settings=settings.settings,
        score=result.score[0],
        rewards=result.payoffs,
        **_common(settings, result.stats, iteration),
    )


def _common(settings: RatingSettings, stats: Stats, iteration: int) -> dict[str, Any]:
    """Fields that the records of all games have."""
    return {
        "game": settings.rules.game,
        "steps": int(stats["frames"][0]),
        "sampling": settings.sampling,
        "iteration": iteration,
        "wall": time.time(),
    }


def fight_record(
    seats: tuple[Seat, Seat],
    characters: tuple[str, str],
    stats: Stats,
    settings: RatingSettings,
    seed: int,
    iteration: int,
    round: int = 0,
) -> GameRecord:
    """The record of a fight that has just ended, from the counters of both seats [2]; see ``FightFacts``."""
    facts: Facts = {
        "stage": settings.rules.stage,
        "characters": [*characters],
        "stocks": stats["stocks"].tolist(),
        "percents": stats["percent"].tolist(),
        "damage": stats["damage"].tolist(),
        "self_destructs": stats["self_destructs"].tolist(),
        "finished": bool(stats["ended"][0] == FINISHED),
    }
    return GameRecord.played(
        seats=seats,
        place=characters,
        seed=seed,
        round=round,
        settings=settings.settings,
        score=float(fight_scores(stats)),
        facts=facts,
        **_common(settings, stats, iteration),
    )
