"""Fight a policy yourself, on a page for the browser: one file that needs no server and no network."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from pathlib import Path

from envs.errors import GameError
from selfplay import console
from selfplay.config.command_line import Parser
from selfplay.errors import SelfPlayError
from selfplay.verbs import program


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
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
    return made


def write_page(options: argparse.Namespace, checkpoints: Path) -> tuple[Path, list[str]]:
    """The page that was written, and lines about it."""
    from selfplay.commands.play import find_home, play_content
    from selfplay.report.fight.saving import check_writable, save_text
    from selfplay.report.play_page.page import play_page

    if options.out is not None:
        check_writable(options.out)
    home = find_home(options.what, checkpoints, options.generations)
    characters = (options.characters or "").split(",") if options.characters else ()
    page = play_page(play_content(home, characters, options.max_episode_frames))
    path = options.out or (Path("play.html") if home.run is None else home.run.path / "play.html")
    size = save_text(path, page)
    return path, [home.hint] * bool(home.hint) + [f"{path} ({size / 1e6:.2f} MB)"]


@console.command
def main(checkpoints: Path = Path("checkpoints")) -> int:
    """Run the command; the exit code. Runs that are named without a path are in ``checkpoints``."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # no work for threads here, and torch's spin
    options = parser().parse_args()
    try:
        path, lines = write_page(options, checkpoints)
    except (SelfPlayError, GameError) as error:
        print(f"{program()}: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    if not options.no_open:
        webbrowser.open(path.absolute().as_uri())
    return 0
