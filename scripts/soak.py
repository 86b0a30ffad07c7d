"""Train for some minutes and watch from outside that memory, descriptors, tasks, threads and processes stay the same.

Prints the figures; exit code 1 where something grew, was left, or did not recover.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from selfplay.errors import ConfigError  # noqa: E402
from selfplay.trainer.cli import Parser, exit_code, exit_when_told  # noqa: E402

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

GAMES = ("mock", "dolphin", "matching", "kuhn_text")


def main() -> int:
    """Train, judge, exit code."""
    parser = Parser(prog="soak.py", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, metavar="F", help="(default: %(default)s)")
    parser.add_argument("--game-type", choices=GAMES, default="mock", metavar="TYPE", help=f"one of {', '.join(GAMES)}")
    parser.add_argument("--chaos", metavar="PLAN", help="faults on purpose, as of train_self_play.py")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where all files go, and stay; it must not exist")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/reliability.md")
    parser.add_argument("options", nargs="*", metavar="-- OPTION", help="more of the command line of the training")
    options = parser.parse_args()
    if not options.minutes > 0:
        parser.error("--minutes must be above 0")
    if options.folder and options.folder.exists():
        parser.error(f"--folder {options.folder} exists; name a new one")
    exit_when_told()  # so that the trainer ends with us
    return exit_code("soak.py", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Soak; 1 where something was not as it should be."""
    from selfplay.runner.chaos import check_plan
    from selfplay.trainer.pages import put_between

    if find_spec("psutil") is None:
        raise ConfigError("soak.py needs psutil, which is not installed: pip install -e '.[dolphin]'")
    check_plan(options.chaos, processes=options.game_type in ("mock", "dolphin"))
    from selfplay.trainer.soak import failures, soak, table

    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary) / "soak").absolute()
        words = training(options.game_type, options.chaos, folder) + options.options
        figures = soak(words, folder, options.minutes, lambda text: print(text, file=sys.stderr, flush=True))
    game = "Dolphin's stand-in" if options.game_type == "dolphin" and "--dolphin" not in options.options else None
    where = {"--folder", str(options.folder), f"--folder={options.folder}"}  # nothing that others could repeat
    command = shlex.join(["python", "scripts/soak.py", *(word for word in sys.argv[1:] if word not in where)])
    figures = {"game": game or options.game_type, "command": command, **figures}
    wrong = failures(figures)
    show(figures, wrong, as_json=options.json)
    if options.write:
        data = ROOT / "docs" / "data"
        text = json.dumps({**figures, "failures": wrong}, indent=1)
        (data / f"soak_{options.game_type}.json").write_text(f"{text}\n", encoding="utf-8")
        found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(data.glob("soak_*.json"))]
        put_between(ROOT / "docs" / "reliability.md", "soak", table(found))
    return 1 if wrong else 0


def training(game: str, chaos: str | None, folder: Path) -> list[str]:
    """Arguments of the training of a soak; a stand-in for Dolphin is put into the folder."""
    words = ["--game-type", game]
    if game == "mock":
        words += ["--preset", "laptop", "--track-elo", "--host", "process"]
    elif game == "dolphin":
        from envs.melee.dolphin.stand_in.disc import Disc
        from envs.melee.dolphin.stand_in.write import write_stand_in

        dolphin, disc = write_stand_in(folder.with_name(f"{folder.name}-stand-in"), Disc(pace=60.0))
        words += ["--dolphin", str(dolphin), "--iso", str(disc), "--num-games", "4", "--rollout-length", "32"]
        words += ["--max-episode-frames", "1200", "--set", "emulator.start_timeout=20"]
    return words if chaos is None else [*words, "--chaos", chaos]


def show(figures: dict[str, Any], wrong: Sequence[str], *, as_json: bool) -> None:
    """Print what was measured."""
    if as_json:
        print(json.dumps({**figures, "failures": list(wrong)}, indent=1))
        return
    for name, value in figures.items():
        if name != "samples":
            print(f"{name}: {value}")
    for text in wrong:
        print(f"not as it should be: {text}")


if __name__ == "__main__":
    sys.exit(main())
