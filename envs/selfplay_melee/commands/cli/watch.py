"""Watch a fight as a page or GIF, or in the terminal: a file, or a game of two players of a run."""

from __future__ import annotations

import argparse
import itertools
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.cli.parser import Parser, add_own_code, add_seed
from selfplay.commands.cli import command
from selfplay.commands.cli.live import add_live, watch_live
from selfplay.errors import ConfigError, IncompatibleError

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.league.records import GameRecord
    from selfplay_melee.drawing.film import Film

_OF_ONE_FIGHT: Final = {
    "players": "players", "out": "--out", "terminal": "--terminal", "start": "--from", "seconds": "--seconds",
    "seed": "--seed", "game": "--game",
}  # fmt: skip


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument(
        "what",
        nargs="?",
        metavar="FILE_OR_RUN",
        help="a replay file (.slp), a game that was played on a page (.json), or a run or a policy: its folder, its "
        "name in checkpoints/, or a shipped policy such as strong (default: the newest run; without any, strong)",
    )
    made.add_argument(
        "players",
        nargs="*",
        metavar="PLAYER",
        help="who fights, of a run: gen_N, a policy folder, or a scripted player (default: the newest generation "
        "against the strongest player that it beats by rating; with one player: against it)",
    )
    made.add_argument(
        "--out",
        type=Path,
        metavar="PATH",
        help="file to write: .html, .gif, or, but of a replay, .slp (default: a page of a new name)",
    )
    made.add_argument("--terminal", action="store_true", help="play in the terminal instead")
    made.add_argument(
        "--from",
        dest="start",
        type=float,
        metavar="S",
        help="start after S seconds (default: of a game that is played, its best moment)",
    )
    made.add_argument("--seconds", type=float, metavar="N", help="show N seconds (default: all, in a GIF 12)")
    which = made.add_mutually_exclusive_group()
    add_seed(which, "seed of the game, for a run (default: the best of a few)", None)
    which.add_argument("--game", metavar="ID", help="play a rated game again: its match id, or the start of it")
    add_own_code(made)
    add_live(made)
    return made


def film_and_path(options: argparse.Namespace) -> tuple[Film, Path, list[str]]:
    """Return the film, the file to write (unused in the terminal), and lines that say why this film was chosen."""
    from selfplay.checkpoint import is_policy, shipped_policies
    from selfplay.checkpoint.generations import POLICY_FILE
    from selfplay.checkpoint.run_dir import RUN_FILE, named_run, runs_under
    from selfplay.evaluation.named_players import check_game_type, game_in
    from selfplay.report.saving import check_writable
    from selfplay_melee import kinds
    from selfplay_melee.choices import MOCK, check_fight
    from selfplay_melee.show.saving import MOMENT_S, check_options, is_game, is_replay, seconds_for

    check_options(options.what, options.out, options.start, options.seconds, terminal=options.terminal)
    if options.out is not None:
        check_writable(options.out)
    seconds = seconds_for(None if options.terminal else options.out, options.seconds)
    if is_replay(options.what) or is_game(options.what):
        if options.players or options.game is not None:
            raise ConfigError(f"{options.what} is a game that was played: who plays in it cannot be chosen")
        check_game_type(options.what, MOCK, options.game_type)
        film = _played(options.what).part(options.start or 0.0, seconds)
        return film, options.out or _free(Path(Path(options.what).stem + ".html")), []
    what, lines = options.what, []
    if what is None and not runs_under():
        what, lines = kinds.MOCK.default_policy, [kinds.NO_RUN_YET]
    folder = shipped_policies().get(what or "") or named_run(what, (RUN_FILE, POLICY_FILE))
    check_game_type(what or str(folder), game_in(folder), options.game_type)
    check_fight(folder, options.players)
    rated = None if options.game is None else _rated(folder, options)
    place = Path() if is_policy(folder) else folder  # nothing is added to a policy
    if options.out is None and not options.terminal:
        check_writable(place / "fight.html")
    from selfplay_melee.commands.watch import fixture, highlight
    from selfplay_melee.drawing.story import best_moment

    length = seconds or MOMENT_S
    if rated is not None:
        film = _again(folder, rated)
        moment = best_moment(film, length)
        name = f"game-{film.title.rpartition(' ')[2]}.html"
    else:
        meeting = fixture(folder, options.players)
        lines += [meeting.why] if meeting.why else []
        if options.start is None:
            film, moment, why = highlight(meeting, length, options.seed)
            lines.append(why)
        else:
            film = meeting.film(options.seed or 0, None if seconds is None else options.start + seconds)
        name = f"{film.names[0]}-vs-{film.names[1]}.html"
    start = moment.start_s if options.start is None else options.start
    opens = options.start is None and seconds is None  # the whole game, open at its moment
    film = replace(film, opens_s=start) if opens else film.part(start, seconds)
    return film, options.out or _free(place / name), lines


def _played(name: str) -> Film:
    from selfplay_melee.show.saving import is_game

    if is_game(name):
        from selfplay_melee.play.games import PlayedGame, replay

        return replay(PlayedGame.read(Path(name)), name).film
    from selfplay_melee.drawing.film import film_of
    from selfplay_melee.replay import read_replay

    return film_of(read_replay(name))


def _free(path: Path) -> Path:
    """``path``, or the first of ``name-2.html``, ``name-3.html``, ... that does not exist."""
    names = itertools.chain([path], (path.with_stem(f"{path.stem}-{number}") for number in itertools.count(2)))
    return next(name for name in names if not os.path.lexists(name))


def rated_game(run: RunDir, match: str) -> GameRecord:
    """The game in the run's ledger with this match id, or the only one whose id starts with it; else ConfigError."""
    from selfplay.league.ledger import read_records

    if not run.ledger.is_file():
        raise ConfigError(f"{run.path} has no rating games; train it with --track-elo")
    found = [game for game in read_records(run.ledger) if game.match.startswith(match)] if match else []
    exact = [game for game in found if game.match == match]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if not found:
        raise ConfigError(f"{run.ledger} has no game {match!r}")
    ids = ", ".join(game.match for game in found[:4])
    raise ConfigError(f"{match!r} is the start of {len(found)} games: {ids}{', ...' if len(found) > 4 else ''}")


def _rated(folder: Path, options: argparse.Namespace) -> GameRecord:
    from selfplay.checkpoint import RunDir

    if options.players:
        raise ConfigError("--game names who plays: leave the players out")
    return rated_game(RunDir(folder), options.game)


def _again(folder: Path, game: GameRecord) -> Film:
    from selfplay.checkpoint import RunDir
    from selfplay_melee.commands.replay import FilmReplayer

    try:
        return FilmReplayer(RunDir(folder)).film(game)
    except IncompatibleError as error:
        raise ConfigError(f"the game {game.match} cannot be played again: {error}") from error


@command(parser, one_thread=True)
def main(options: argparse.Namespace) -> None:
    if watch_live(options, _OF_ONE_FIGHT):
        return
    film, path, why = film_and_path(options)
    from selfplay_melee.show import show

    print("\n".join([*(show.play(film) if options.terminal else [show.write(film, path)]), *why]))
