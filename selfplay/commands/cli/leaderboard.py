"""Show the ratings of a run, or of the games of any program: works while a run trains, and needs no torch."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.cli.parser import Parser, add_own_code
from selfplay.commands.cli import command
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from selfplay.league.leaderboard import LeaderboardAnalysis


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument("run", nargs="?", metavar="RUN", help="run folder, or its name in checkpoints/ (default: newest)")
    made.add_argument(
        "--games",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="rate games of another program: CSV, TSV or JSON lines with first, second, score, or PGN",
    )
    made.add_argument(
        "--anchor", metavar="NAME", help="with --games: the player fixed at 1500 (default: random, or who played most)"
    )
    made.add_argument(
        "--all",
        action="store_true",
        help="all players, also stronger ones, those that met no generation and those after the first 10",
    )
    add_own_code(made)
    form = made.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON")
    form.add_argument("--csv", action="store_true", help="as CSV: every player, all columns")
    form.add_argument("--html", type=Path, metavar="PAGE", help="as a page for browsers, with curves, maps and games")
    made.add_argument(
        "--play",
        action="store_true",
        help="with --html: a page beside it for each generation, on which you play against it",
    )
    made.add_argument("--elo", choices=("batch", "sequential"), default="batch", help="method (default: %(default)s)")
    made.add_argument("--settings", metavar="HASH", help="rate the games played under these settings (default: newest)")
    return made


@command(parser)
def main(options: argparse.Namespace) -> None:
    from selfplay.checkpoint.run_dir import named_run
    from selfplay.league.external_games import default_anchor
    from selfplay.league.leaderboard import analyse
    from selfplay.league.people_ledger import run_games
    from selfplay.league.render import to_csv, to_json, to_table, to_text
    from selfplay.league.result_files import read_results

    run: Path | None = None
    if options.play and (options.html is None or options.games is not None):
        raise ConfigError("--play goes with --html and a run")
    if options.games is not None:
        if any(given is not None for given in (options.run, options.settings, options.game_type)):
            raise ConfigError("--games rates a file of its own, without RUN, --settings and --game-type")
        games = read_results(*options.games)
        found = analyse(games, options.elo, anchor=options.anchor or default_anchor(games))
    elif options.anchor is not None:
        raise ConfigError("--anchor goes with --games; in a run's ledger random stands at 1500")
    else:
        run = named_run(options.run)
        if options.game_type is not None:
            _check_game(run, options.game_type)
        if not len(games := run_games(run)):
            raise ConfigError(f"{run} has no rating games yet; train it with --track-elo")
        found = analyse(games, options.elo, options.settings, run)
    board = found.board
    if options.html is not None:
        print(page(found, run, options))
    elif options.json:
        print(to_json(board, options.all))
    elif options.csv:
        print(to_csv(board), end="")
    elif sys.stdout.isatty():
        from rich.console import Console

        console = Console()
        console.print(to_table(board, options.all, console.width))
    else:
        print(to_text(board, options.all))


def _check_game(run: Path, named: str) -> None:
    from selfplay.checkpoint import RunDir
    from selfplay.config.resume import game_of_run
    from selfplay.evaluation.named_players import check_game_type

    check_game_type(str(run), game_of_run(RunDir(run)), named)


def page(found: LeaderboardAnalysis, run: Path | None, options: argparse.Namespace) -> str:
    """Write the page; a line that says so. Games are played again for it, which takes torch and a while."""
    path: Path = options.html
    from selfplay.report.saving import check_writable

    check_writable(path)
    if run is None:
        from selfplay.report.leaderboard_page.page import PageContent, write_page

        return f"{path} ({write_page(PageContent(found.board.settings, found), path) / 1e6:.1f} MB)"
    from selfplay.commands.leaderboard_page import write_run

    return write_run(run, found, path, lambda text: print(text, file=sys.stderr), play=options.play)
