"""Play more rating games for a run, or rate the scripted players under its settings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING

from selfplay.cli.parser import Parser, add_cluster, add_own_code, add_seed, check_cluster
from selfplay.commands.cli import command
from selfplay.errors import ConfigError
from selfplay.games.errors import GameError

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.commands.rate import MatchPlayer
    from selfplay.config.options import Option


def parser() -> argparse.ArgumentParser:
    """With flags for the programs that games of the run start."""
    made = Parser(description=__doc__, elsewhere=_flags_elsewhere)
    made.add_argument("run", nargs="?", metavar="RUN", help="run folder, or its name in checkpoints/ (default: newest)")
    made.add_argument("--budget", type=int, default=400, metavar="N", help="games to play (default: %(default)s)")
    add_seed(made, "seed of the games (default: %(default)s)")
    made.add_argument("--calibrate", action="store_true", help="rate only the scripted players, by a round robin")
    made.add_argument("--games", type=int, metavar="N", help="with --calibrate: games of each pair (default: 1000)")
    made.add_argument(
        "--opponent",
        type=_urls,
        default=(),
        metavar="URL,URL",
        help="text games: servers to rate too, http://HOST:PORT",
    )
    add_cluster(made, "play the games")
    made.add_argument("--runners", type=int, metavar="N", help="actors of --host ray (default: one for each free CPU)")
    add_own_code(made)
    for option in _programs(sys.argv[1:]):
        made.add_argument(option.flag, dest=option.path, metavar=option.metavar, help=option.field.description)
    return made


def _urls(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _programs(arguments: Sequence[str]) -> Sequence[Option]:
    """Those of the run that the command line names; what cannot be is reported where the run is needed."""
    from selfplay.cli.game_type import game_of_line, game_rated, training_of
    from selfplay.config.ppo import programs_of

    with suppress(GameError):
        game = game_of_line(arguments, game_rated)
        return programs_of(game) if game is not None and training_of(game) == "ppo" else ()
    return ()


def _flags_elsewhere() -> dict[str, str]:
    from selfplay.config.ppo import programs_of
    from selfplay.games.registry import games_of

    games = {name: programs_of(name) for name in games_of("ppo")}
    return {
        option.flag: f"is a flag of runs of --game-type {name}" for name, options in games.items() for option in options
    }


@command(parser)
def main(options: argparse.Namespace) -> None:
    from selfplay.checkpoint import RunDir
    from selfplay.checkpoint.run_dir import named_run
    from selfplay.cli.game_type import training_of
    from selfplay.config.resume import game_of_run
    from selfplay.evaluation.named_players import check_game_type
    from selfplay.report.saving import check_writable
    from selfplay.run.trainings import find_training

    if options.games is not None and not options.calibrate:
        raise ConfigError("--games goes with --calibrate; without it --budget says how many games are played")
    check_cluster(options, options.runners, "--runners")
    if options.runners is not None and options.host != "ray":
        raise ConfigError("--runners is about actors of Ray: add --host ray")
    for flag, games in (("--budget", options.budget), ("--games", options.games)):
        if games is not None and games < 1:
            raise ConfigError(f"{flag} {games}: at least 1 is needed")
    folder = RunDir(named_run(options.run))
    game = game_of_run(folder)
    check_game_type(str(folder.path), game, options.game_type)
    check_writable(folder.ledger)
    if options.opponent and training_of(game) != "dialogue":
        raise ConfigError(f"--opponent names servers that play text games; {folder.path} is a run of {game}")
    if options.host == "ray" and training_of(game) == "dialogue":
        raise ConfigError(f"--host ray plays no games of language models; {folder.path} is a run of {game}")
    find_training(training_of(game)).rate(folder, options)


def rate_games(folder: RunDir, options: argparse.Namespace) -> None:
    """Rate a run of games whose players choose numbered actions."""
    from math import comb

    from selfplay.checkpoint import list_generations
    from selfplay.commands.rate import GAMES, calibrate, match_player_of, player_on_cluster, rate_run, save_table
    from selfplay.config.ppo import programs_of
    from selfplay.league.anchors import FILE_NAME
    from selfplay.league.leaderboard import build
    from selfplay.league.people_ledger import run_games
    from selfplay.league.render import terminal_width, to_text
    from selfplay.league.statistics import Z95
    from selfplay.ppo.rating import config_of, settings_of
    from selfplay.report.files import write_ratings

    config = config_of(folder)
    paths = (option.path for option in programs_of(config.game.type))
    given = {path: value for path in paths if (value := getattr(options, path, None)) is not None}
    settings = settings_of(config)

    def player(games: int) -> AbstractContextManager[MatchPlayer]:
        if options.host == "ray":
            return player_on_cluster(config, options.ray_address, options.runners, games, notice)
        return nullcontext(match_player_of(config, folder, notice, given))

    if options.calibrate:
        games = options.games or GAMES
        with player(games * comb(len(settings.anchors), 2)) as match_player:
            table = calibrate(settings, games, options.seed, notice, match_player)
        path = folder.path / FILE_NAME
        save_table(table, path)
        print(f"wrote {path}")
        objective = settings.rules.objective
        form, unit = (".2f", f" {objective.unit} a game") if objective.by_payoff else (".0f", "")
        for name, rating in sorted(table.rating.items(), key=lambda item: -item[1]):
            print(f"  {name:<16} {rating:6{form}}  ± {Z95 * table.se[name]:{form}}{unit}")
        return
    with folder.lock():  # no trainer may use the run meanwhile
        saved = list_generations(folder)
        generations = [generation.id for generation in saved]
        with player(options.budget) as match_player:
            played = rate_run(folder, settings, generations, options.budget, options.seed, notice, match_player)
    board = build(run_games(folder.path), run=folder.path)
    newest = max((generation.iteration for generation in saved), default=0)
    write_ratings(folder.rating_events, board, newest * config.steps_per_iteration)
    print(f"{played} games played")
    print(to_text(board, width=terminal_width()))


def notice(text: str) -> None:
    print(text, file=sys.stderr)
