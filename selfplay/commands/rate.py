"""The round robin of the scripted players that pins them to the scale, and rating games outside training."""

from __future__ import annotations

import itertools
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.checkpoint import shipped_policies
from selfplay.checkpoint.store import write_file
from selfplay.compilation.progress import compile_rules
from selfplay.config.base import Mark
from selfplay.config.game_settings import game_settings
from selfplay.config.options import marked
from selfplay.config.ppo import Config, options_of
from selfplay.config.resume import change, refuse_unnamed
from selfplay.errors import ConfigError
from selfplay.evaluation.players import contender
from selfplay.league.anchors import AnchorTable, RatingConditions
from selfplay.league.games import GameTable
from selfplay.league.ledger import Ledger
from selfplay.league.ratings import rate
from selfplay.league.records import generation_number
from selfplay.league.schedule import Matchup, plan_games
from selfplay.machine import usable_cores
from selfplay.ppo.host import host_of
from selfplay.ppo.rating import PlayMatches, play_matchups
from selfplay.report.ticker import time_left
from selfplay.runner.match import THREAD_GAMES, Contender, play_in_threads
from selfplay.runner.match_server import matches_on
from selfplay.runner.ray_cluster import connected
from selfplay.seeding import derive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from selfplay.checkpoint import RunDir
    from selfplay.league.records import GameRecord
    from selfplay.league.scale import Scale
    from selfplay.ppo.rating import RatingSettings

BATCH: Final = 256  # games side by side: many cost little more than few, as each policy acts once for all of its own
GAMES: Final = 1000  # of a pair in a calibration
ON_ALL_CORES: Final = partial(play_in_threads, usable_cores())


@dataclass(frozen=True, slots=True)
class MatchPlayer:
    """Function that plays rating games, and how many it plays at once."""

    play: PlayMatches = ON_ALL_CORES
    batch: int = BATCH


IN_THREADS: Final = MatchPlayer()


def match_player_of(
    config: Config, run: RunDir, notice: Callable[[str], None], given: Mapping[str, str] | None = None
) -> MatchPlayer:
    """Return what plays rating games of the game that a run trained in. Blocks.

    ``given`` has what the user named that is started, by dotted name. ConfigError if a game in real time lacks what it
    needs, or the user did not name that.
    """
    given = given or {}
    if (host := host_of(config.game.kind)) is None:
        return IN_THREADS
    values = config.model_dump()
    programs = marked(type(config), Mark.STARTS_PROGRAM)
    options = options_of(config.game.type)
    change(values, given, programs, options)
    refuse_unnamed(config, given, programs, options)
    checked = game_settings(config.game.type).complete(type(config).model_validate(values), notice)
    compile_rules(config.game.kind, notice)  # each process of a game would do it within its own deadline
    return MatchPlayer(host.arena(checked, run, notice).play, 4 * host.rating_games(config))


@contextmanager
def player_on_cluster(
    config: Config, address: str | None, actors: int | None, games: int, notice: Callable[[str], None]
) -> Iterator[MatchPlayer]:
    """What plays so many rating games on actors of a Ray cluster, see ``connected``; no more actors than they need.

    ConfigError for games in real time. Blocks.
    """
    if host_of(config.game.kind) is not None:
        raise ConfigError(f"--host ray: games of {config.game.type} are played in real time, on this machine only")
    with connected(address, actors) as cluster:
        number = min(cluster.room(actors), max(1, games // THREAD_GAMES))
        with matches_on(cluster, number, notice) as matches:
            yield MatchPlayer(matches.play, max(BATCH, matches.at_once))


def calibrate(
    settings: RatingSettings,
    games: int = GAMES,
    seed: int = 0,
    notice: Callable[[str], None] = lambda _: None,
    match_player: MatchPlayer = IN_THREADS,
) -> AnchorTable:
    """Let every two scripted players meet ``games`` times and rate them. Blocks."""
    settings = replace(settings, anchors=tuple(name for name in settings.anchors if name not in shipped_policies()))
    contenders = {name: Contender(name) for name in settings.anchors}
    some = partial(play_matchups, contenders=contenders, settings=settings, iteration=0, play=match_player.play)
    at_once = max(1, match_player.batch // settings.games_each)
    return round_robin(settings, games, seed, some, at_once, lambda done: notice(f"{done} games"))


def round_robin(
    settings: RatingConditions,
    games: int,
    seed: int,
    play_some: Callable[[Sequence[Matchup]], Sequence[GameRecord]],
    at_once: int,
    notice: Callable[[str], object],
) -> AnchorTable:
    """Let every two scripted players meet ``games`` times and rate them. Blocks.

    ``play_some`` is given up to ``at_once`` matchups. ConfigError for fewer games than one matchup has.
    """
    if games < settings.games_each:
        raise ConfigError(f"--games {games}: a pair needs at least {settings.games_each}, from both seats")
    pairs = list(itertools.combinations(settings.anchors, 2))
    rounds = games // settings.games_each
    matchups = [
        Matchup((a, b), seed=derive(seed, "calibrate", a, b, i)) for i in range(rounds) for a, b in pairs
    ]  # every pair again and again, so that a batch has long and short games
    records: list[GameRecord] = []
    started = time.monotonic()
    for start in range(0, len(matchups), at_once):
        records += play_some(matchups[start : start + at_once])
        done, total = len(records), len(matchups) * settings.games_each
        notice(f"{done:,} of {total:,}{time_left(time.monotonic() - started, done, total)}")
    ratings = rate(GameTable.of(records), players=settings.anchors)
    return AnchorTable(
        settings=settings.settings,
        described=settings.described,
        rating={name: _rounded(ratings.rating[ratings.index(name)], ratings.scale) for name in settings.anchors},
        se={name: _rounded(ratings.se[ratings.index(name)], ratings.scale) for name in settings.anchors},
        games=len(records),
        seed=seed,
    )


def _rounded(value: float, scale: Scale) -> float:
    return round(float(value), 4 if scale.by_payoff else 1)


def save_table(table: AnchorTable, path: Path) -> None:
    """Write a table, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, (table.model_dump_json(indent=1) + "\n").encode())


def rate_run(
    run: RunDir,
    settings: RatingSettings,
    generations: list[str],
    budget: int,
    seed: int,
    notice: Callable[[str], None] = lambda _: None,
    match_player: MatchPlayer = IN_THREADS,
) -> int:
    """Spend ``budget`` rating games where they tell most and add them to the run's ledger; how many. Blocks."""
    players = [*generations, *settings.anchors]
    contenders = {name: contender(name, run, settings.rules.game) for name in players}
    iteration = max((generation_number(name) or 0 for name in generations), default=0)
    some = partial(play_matchups, contenders=contenders, settings=settings, iteration=iteration, play=match_player.play)
    return spend(run, settings, players, budget, seed, some, match_player.batch, notice)


def spend(
    run: RunDir,
    settings: RatingConditions,
    players: Sequence[str],
    budget: int,
    seed: int,
    play_some: Callable[[Sequence[Matchup]], Sequence[GameRecord]],
    at_once: int,
    notice: Callable[[str], object],
) -> int:
    """Add up to ``budget`` games of these players to the run's ledger, ``at_once`` side by side; how many. Blocks."""
    played, started = 0, time.monotonic()
    with Ledger.open(run.ledger) as ledger:
        notice(f"{budget:,} games, {at_once} side by side")
        while budget - played >= settings.games_each:
            rng = np.random.default_rng(derive(seed, "rate", ledger.rows))
            matchups = plan_games(ledger.games(), settings, players, min(at_once, budget - played), rng, run.path)
            found = ledger.append(play_some(matchups))
            if not found:
                break
            played += found
            whole = budget - budget % settings.games_each
            notice(f"{played:,} of {budget:,} games{time_left(time.monotonic() - started, played, whole)}")
    return played
