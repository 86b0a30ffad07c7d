"""Watch a fight, a replay file or a game of two players of a run, as a page, GIF or MP4, or in the terminal."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from envs.errors import GameError
from selfplay import console
from selfplay.config.command_line import Parser
from selfplay.errors import ConfigError, IncompatibleError, SelfPlayError
from selfplay.verbs import program

if TYPE_CHECKING:
    from envs.melee.drawing.film import Film


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument(
        "what",
        nargs="?",
        metavar="FILE_OR_RUN",
        help="a replay file (.slp), or a run or a policy: its folder, or its name in checkpoints/ (default: the newest "
        "run)",
    )
    made.add_argument(
        "players",
        nargs="*",
        metavar="PLAYER",
        help="who fights, of a run: gen_N, a policy folder, or a scripted player (default: the newest generation "
        "against itself; with one player: the newest generation against it; of a policy likewise)",
    )
    made.add_argument("--out", type=Path, metavar="PATH", help="file to write: .html, .gif, .mp4, or, of a run, .slp")
    made.add_argument("--terminal", action="store_true", help="play in the terminal instead")
    made.add_argument("--from", dest="start", type=float, default=0.0, metavar="S", help="start after S seconds")
    made.add_argument("--seconds", type=float, metavar="N", help="show N seconds (default: all, in a GIF 20)")
    which = made.add_mutually_exclusive_group()
    which.add_argument("--seed", type=int, default=0, help="seed of the game, for a run (default: %(default)s)")
    which.add_argument("--game", metavar="ID", help="play a rated game again: its match id, or the start of it")
    return made


def film_and_path(options: argparse.Namespace, checkpoints: Path) -> tuple[Film, Path]:
    """What is to be shown, and the file to write, which nobody needs who watches in the terminal."""
    from selfplay.report.fight import show

    show.check(options.what, options.out, options.start, options.seconds, terminal=options.terminal)
    if show.is_replay(options.what):
        if options.players or options.game is not None:
            raise ConfigError(f"{options.what} is a replay file: who plays in it cannot be chosen")
        path = _target(options, Path(Path(options.what).stem + ".html"))
        return show.replay_film(options.what).part(options.start, show.seconds_for(path, options.seconds)), path
    from selfplay.checkpoint import is_policy
    from selfplay.checkpoint.generations import POLICY_FILE
    from selfplay.checkpoint.named_runs import RUN_FILE, resolve_run

    folder = resolve_run(options.what, checkpoints, (RUN_FILE, POLICY_FILE))
    from selfplay.commands.watch import fight

    seconds = show.seconds_for(None if options.terminal else options.out or Path("a.gif"), options.seconds)
    if options.game is not None:
        film = _rated(folder, options)
        path = _target(options, folder / f"game-{film.title.rpartition(' ')[2]}.gif")
        return film.part(options.start, seconds), path
    film = fight(folder, options.players, options.seed, None if seconds is None else options.start + seconds)
    place = Path() if is_policy(folder) else folder  # nothing is added to a policy
    path = _target(options, place / f"{film.names[0]}-vs-{film.names[1]}.gif")
    return film.part(options.start, seconds), path


def _target(options: argparse.Namespace, default: Path) -> Path:
    """The file to write: the one that the user names, else one that does not exist yet.

    Raises:
        ConfigError: there is a file of the default name.
    """
    path: Path = options.out or default
    if options.out is None and not options.terminal and path.exists():
        raise ConfigError(f"{path} exists; --out names another file, or this one to replace it")
    return path


def _rated(folder: Path, options: argparse.Namespace) -> Film:
    from selfplay.checkpoint import RunDir
    from selfplay.commands.replay import Replayer, rated_game

    if options.players:
        raise ConfigError("--game names who plays: leave the players out")
    run = RunDir(folder)
    game = rated_game(run, options.game)
    try:
        return Replayer(run).film(game)
    except IncompatibleError as error:
        raise ConfigError(f"the game {game.match} cannot be played again: {error}") from error


@console.command
def main(checkpoints: Path = Path("checkpoints")) -> int:
    """Run the command; the exit code. Runs that are named without a path are in ``checkpoints``."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's threads spin, and one game is too little for two
    options = parser().parse_args()
    from selfplay.report.fight import show

    try:
        film, path = film_and_path(options, checkpoints)
        lines = show.play(film) if options.terminal else [show.write(film, path)]
    except (SelfPlayError, GameError) as error:
        print(f"{program()}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print("\n".join(lines))
    return 0
