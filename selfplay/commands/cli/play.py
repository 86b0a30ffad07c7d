"""Fight a policy yourself, on a page for the browser: one file that needs no server and no network.

With --serve a server on this machine hosts the page, plays policies of any kind, and keeps and rates your games.
"""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Final

from envs.errors import GameError
from envs.files import printable
from selfplay import console
from selfplay.config.command_line import Parser
from selfplay.errors import ConfigError, SelfPlayError
from selfplay.verbs import program, respelled

if TYPE_CHECKING:
    from selfplay.commands.play.content import Home
    from selfplay.report.play_page.page import PlayContent

_FOR_PAGES: Final = ("generations", "characters", "max_episode_frames", "out", "no_open", "name", "serve", "port")


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
    made.add_argument("--name", help="your name in games and ratings (default: your login name)")
    made.add_argument("--serve", action="store_true", help="host the page on 127.0.0.1 until Ctrl-C; games are kept")
    made.add_argument("--port", type=int, metavar="N", help="with --serve: its port, 0 for a free one (default: 8465)")
    made.add_argument(
        "--add",
        nargs="+",
        type=Path,
        metavar="GAME.json",
        help="keep and rate games that a page without a server saved",
    )
    return made


def check(options: argparse.Namespace, checkpoints: Path) -> None:
    """Refuse a run that is none and options that do not go together, before anything is loaded.

    Raises:
        ConfigError: says which.
        NotARunError: there is no such run or policy.
    """
    from selfplay.checkpoint import shipped_policies
    from selfplay.checkpoint.generations import POLICY_FILE
    from selfplay.checkpoint.named_runs import RUN_FILE, resolve_run
    from selfplay.commands.play.request import check_name

    given = [name for name in _FOR_PAGES if getattr(options, name) not in (None, False)]
    if options.add and given:
        raise ConfigError(f"--{given[0].replace('_', '-')} is for a new page; --add takes games that were saved")
    if options.serve and options.out is not None:
        raise ConfigError("--out is for a page without a server; --serve writes none")
    if options.port is not None and not options.serve:
        raise ConfigError("--port goes with --serve")
    if options.port is not None and not 0 <= options.port < 2**16:
        raise ConfigError(f"--port {options.port}: 0 to {2**16 - 1} are possible")
    if options.name is not None:
        check_name(options.name)
    if options.what is not None and options.what not in shipped_policies():
        resolve_run(options.what, checkpoints, (RUN_FILE, POLICY_FILE))


def content_of(options: argparse.Namespace, home: Home) -> PlayContent:
    from dataclasses import replace

    from selfplay.commands.play.content import play_content
    from selfplay.commands.play.request import login_name

    characters = options.characters.split(",") if options.characters else ()
    content = play_content(home, characters, options.max_episode_frames, served=options.serve)
    return replace(content, person=options.name or login_name())


def write_page(options: argparse.Namespace, checkpoints: Path) -> None:
    """Write the page and open it."""
    from selfplay.commands.play.content import find_home
    from selfplay.report.fight.saving import check_writable, save_text
    from selfplay.report.play_page.page import play_page

    if options.out is not None:
        check_writable(options.out)
    home = find_home(options.what, checkpoints, options.generations)
    page = play_page(content_of(options, home))
    path = options.out or (Path("play.html") if home.run is None else home.run.path / "play.html")
    size = save_text(path, page)
    print("\n".join([*_hint(home), f"{path} ({size / 1e6:.2f} MB)"]))
    if not options.no_open and not webbrowser.open(path.absolute().as_uri()):
        print("No browser was found here: open that file in one.")


def serve(options: argparse.Namespace, checkpoints: Path) -> None:
    """Host the page until Ctrl-C."""
    from contextlib import ExitStack

    from selfplay.commands.play.content import find_home
    from selfplay.commands.play.hosting import games_folder, host, opening_file
    from selfplay.commands.play.server import PORT

    home = find_home(options.what, checkpoints, options.generations)
    content, folder = content_of(options, home), games_folder(home.run, checkpoints)
    port = PORT if options.port is None else options.port
    with ExitStack() as stack:

        def ready(address: str) -> None:
            print("\n".join([*_hint(home), address, f"Games are kept in {folder}. Ctrl-C ends."]), flush=True)
            if not options.no_open:
                webbrowser.open(stack.enter_context(opening_file(address, folder)).as_uri())

        host(home, content, folder, port, ready, lambda line: print(line, flush=True))


def add(options: argparse.Namespace, checkpoints: Path) -> int:
    """Keep games that pages saved; the number of those that were refused."""
    from envs.files import MAX_TEXT_BYTES
    from selfplay.files import read_file

    documents = {path: read_file(path, MAX_TEXT_BYTES, follow=True) for path in options.add}
    from selfplay.commands.play.content import find_home
    from selfplay.commands.play.games import PlayedGame
    from selfplay.commands.play.hosting import games_folder
    from selfplay.commands.play.people import add_game

    for path, document in documents.items():
        PlayedGame.parse(document, str(path))
    home = find_home(options.what, checkpoints)
    refused = 0
    for path, document in documents.items():
        try:
            print(f"{path}: {add_game(home.run, document, games_folder(home.run, checkpoints))}", flush=True)
        except (SelfPlayError, GameError) as error:
            _tell(f"{path}: {error}")
            refused += 1
    return refused


def _hint(home: Home) -> list[str]:
    return [respelled(home.hint)] * bool(home.hint)


def _tell(text: str) -> None:
    print(printable(f"{program()}: {text}"), file=sys.stderr)


@console.command
def main(checkpoints: Path = Path("checkpoints")) -> int:
    """Run the command; the exit code. Runs that are named without a path are in ``checkpoints``."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # no work for threads here, and torch's spin
    options = parser().parse_args()
    try:
        check(options, checkpoints)
        if options.add:
            return 2 if add(options, checkpoints) else 0
        (serve if options.serve else write_page)(options, checkpoints)
    except (SelfPlayError, GameError) as error:
        _tell(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    return 0
