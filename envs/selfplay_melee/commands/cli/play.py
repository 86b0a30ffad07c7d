"""Fight a policy yourself, on a page for the browser: one file that needs no server and no network.

With --serve a server on this machine hosts the page, plays policies of any kind, and keeps and rates your games.
"""

from __future__ import annotations

import argparse
import getpass
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.cli.parser import Parser, add_own_code
from selfplay.commands.cli import command
from selfplay.commands.cli.play import IN_THE_TERMINAL
from selfplay.errors import ConfigError, CorruptError, LeagueError, SelfPlayError
from selfplay.games.errors import GameError
from selfplay.games.files import printable
from selfplay.verbs import program, respelled
from selfplay_melee.play_page import NAME_LETTERS

if TYPE_CHECKING:
    from selfplay_melee.play.home import Home
    from selfplay_melee.play_page.page import PlayContent

_FOR_PAGES: Final = ("generations", "characters", "max_episode_frames", "out", "no_open", "name", "serve", "port")
_DEFAULT_NAME: Final = "me"  # if the login has no usable name


def parser() -> argparse.ArgumentParser:
    made = Parser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        elsewhere=lambda: dict.fromkeys(
            IN_THE_TERMINAL, "is a flag of games in the terminal, and fights are on a page"
        ),
    )
    made.add_argument(
        "what",
        nargs="?",
        metavar="RUN_OR_POLICY",
        help="a run or a policy: its folder, its name in checkpoints/, or a shipped policy such as strong "
        "(default: the newest run, without a run strong)",
    )
    made.add_argument(
        "--generations",
        metavar="N|NAMES",
        help="how many generations of the run, or names with commas between them: gen_N, shipped policies or policy "
        "folders (default: 2, the newest and the first)",
    )
    made.add_argument("--characters", metavar="NAMES", help="more characters, with commas between them")
    made.add_argument("--max-episode-frames", type=int, metavar="N", help="longest game (default: as in training)")
    made.add_argument("--out", type=Path, metavar="PATH", help="page to write (default: play.html in the run)")
    made.add_argument("--no-open", action="store_true", help="do not open the page in the browser")
    made.add_argument("--name", help="your name in games, and in ratings (default there: your login name)")
    made.add_argument("--serve", action="store_true", help="host the page on 127.0.0.1 until Ctrl-C; games are kept")
    made.add_argument("--port", type=int, metavar="N", help="with --serve: its port, 0 for a free one (default: 8465)")
    add_own_code(made)
    made.add_argument(
        "--add",
        nargs="+",
        type=Path,
        metavar="GAME.json",
        help="keep and rate games that a page without a server saved",
    )
    return made


def check(options: argparse.Namespace) -> Home:
    """Refuse a run that is none and options that do not go together, before anything is loaded.

    Returns:
        The subject of a page.

    Raises:
        ConfigError: says which.
        GameError: an unknown character.
        NotARunError: there is no such run or policy.
        CheckpointError: the policy file is damaged.
    """
    from selfplay.evaluation.named_players import check_game_type, game_in
    from selfplay.games.registry import DEFAULT, find_game
    from selfplay.report.saving import check_writable
    from selfplay_melee.play.home import check_choices, find_folder, home_of

    given = _given(options, [name for name in _FOR_PAGES if name != "name"])
    if options.add and given:
        raise ConfigError(f"{given[0]} is for a new page; --add takes games that were saved")
    if options.serve and options.out is not None:
        raise ConfigError("--out is for a page without a server; --serve writes none")
    if options.port is not None and not options.serve:
        raise ConfigError("--port goes with --serve")
    if options.port is not None and not 0 <= options.port < 2**16:
        raise ConfigError(f"--port {options.port}: 0 to {2**16 - 1} are possible")
    if options.name is not None:
        check_name(options.name)
    folder = find_folder(options.what)
    game = DEFAULT if folder is None else game_in(folder)
    check_game_type(options.what or str(folder or find_game(game).default_policy), game, options.game_type)
    home = home_of(folder, options.what, options.generations)
    check_choices(_characters(options), options.max_episode_frames)
    if not options.serve and not options.add:
        check_writable(page_path(options, home))
    return home


def page_path(options: argparse.Namespace, home: Home) -> Path:
    """The page to write: as asked for, else in the run; of a policy, which stays as it is, in the current folder."""
    return options.out or (Path() if home.run is None else home.run.path) / "play.html"


def _given(options: argparse.Namespace, names: Sequence[str]) -> list[str]:
    """Flags that were given, of these options."""
    given = (name for name in names if getattr(options, name) is not None and getattr(options, name) is not False)
    return [f"--{name.replace('_', '-')}" for name in given]


def check_name(name: str) -> None:
    """Refuse a name that is too long, has letters that cannot be shown, or gives no id for games and ratings."""
    if len(name) > NAME_LETTERS or not name.isprintable():
        raise ConfigError(f"--name: at most {NAME_LETTERS} letters that can be shown are possible")
    from selfplay.league.people_ledger import person_id

    try:
        person_id(name)
    except LeagueError as error:
        raise ConfigError(f"--name: {error}") from None


def login_name() -> str:
    """The name of the user's login, where it is one that games can have."""
    try:
        name = getpass.getuser()[:NAME_LETTERS]
        check_name(name)
    except (OSError, KeyError, ImportError, ConfigError):  # a container may have users without a name
        return _DEFAULT_NAME
    return name


def _characters(options: argparse.Namespace) -> list[str]:
    return options.characters.split(",") if options.characters else []


def content_of(options: argparse.Namespace, home: Home) -> PlayContent:
    from dataclasses import replace

    from selfplay_melee.play.content import play_content

    content = play_content(home, _characters(options), options.max_episode_frames, served=options.serve)
    return replace(content, person=options.name or "")


def write_page(options: argparse.Namespace, home: Home) -> None:
    """Write the page and open it."""
    from selfplay.report.saving import save_text
    from selfplay_melee.play_page.page import play_page

    page = play_page(content_of(options, home))
    path = page_path(options, home)
    size = save_text(path, page)
    print("\n".join([*_hint(home), f"{path} ({size / 1e6:.2f} MB)"]))
    if not options.no_open and not webbrowser.open(path.absolute().as_uri()):
        print("No browser was found here: open that file in one.")


def serve(options: argparse.Namespace, home: Home) -> None:
    """Host the page until Ctrl-C."""
    from contextlib import ExitStack

    from selfplay.loopback import opening_file
    from selfplay_melee.play.added_games import games_folder
    from selfplay_melee.play.hosting import host
    from selfplay_melee.play.server import PORT

    content, folder = content_of(options, home), games_folder(home.run)
    port = PORT if options.port is None else options.port
    with ExitStack() as stack:

        def ready(address: str) -> None:
            print("\n".join([*_hint(home), address, f"Games are kept in {folder}. Ctrl-C ends."]), flush=True)
            if not options.no_open:
                webbrowser.open(stack.enter_context(opening_file(address, folder)).as_uri())

        host(home, content, port, ready, lambda line: print(line, flush=True), options.name or login_name())


def add(options: argparse.Namespace, home: Home) -> int:
    """Keep games that pages saved; the number of those that were refused."""
    from selfplay.files import read_file
    from selfplay.games.files import MAX_TEXT_BYTES

    for path in options.add:
        if path.suffix.lower() == ".slp":
            raise ConfigError(
                f"{path} is a Slippi replay, which does not say what a rating needs: add the .json file that the page "
                f"saved; {program()} watch {path} shows the replay"
            )
    documents = {path: read_file(path, MAX_TEXT_BYTES, ConfigError, follow=True) for path in options.add}
    from selfplay_melee.play.added_games import add_game
    from selfplay_melee.play.games import PlayedGame

    for path, document in documents.items():
        try:
            PlayedGame.parse(document, str(path))
        except CorruptError as error:
            raise ConfigError(str(error)) from error
    refused = 0
    for path, document in documents.items():
        try:
            print(f"{path}: {add_game(home.run, document, options.name or login_name())}", flush=True)
        except (SelfPlayError, GameError) as error:
            print(printable(f"{program()}: {path}: {error}"), file=sys.stderr)
            refused += 1
    return refused


def _hint(home: Home) -> list[str]:
    return [respelled(home.hint)] * bool(home.hint)


@command(parser, one_thread=True)
def main(options: argparse.Namespace) -> int:
    """Do what is asked for; 2 where a game that was saved is refused."""
    home = check(options)
    if options.add:
        return 2 if add(options, home) else 0
    (serve if options.serve else write_page)(options, home)
    return 0
