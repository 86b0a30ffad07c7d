"""Soak test: train for some minutes; memory, descriptors, tasks, threads and processes must not grow.

Prints the figures. Exit code 1 where something grew, was left behind, or did not recover from a fault.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.studies import ROOT
from scripts.studies.command_line import Command, exit_on_signals, tell_error
from scripts.studies.pages import put_between, this_command, write_json
from selfplay.distribution import install_command
from selfplay.errors import ConfigError
from selfplay.runner.chaos import check_plan

if TYPE_CHECKING:
    import argparse

GAMES = ("mock", "dolphin", "matching", "kuhn_text")


def main() -> int:
    command = Command("soak", __doc__)
    command.add_argument("--minutes", type=float, default=30.0, metavar="F", help="(default: %(default)s)")
    command.add_argument("--game-type", choices=GAMES, default="mock", metavar="TYPE", help=", ".join(GAMES))
    command.add_argument("--chaos", metavar="PLAN", help="fault injection, as in selfplay train")
    command.add_argument("--folder", type=Path, metavar="DIR", help="a new folder, in which all files stay")
    command.add_argument("--json", action="store_true", help="print the figures as JSON")
    command.add_argument("--write", action="store_true", help="put the figures into docs")
    command.add_argument("options", nargs="*", metavar="-- OPTION", help="more arguments of the training")
    return command.execute(run)


def run(options: argparse.Namespace) -> int:
    """Run the soak test; 1 where a check failed."""
    if not options.minutes > 0:
        raise ConfigError("--minutes must be above 0")
    if options.folder and options.folder.exists():
        raise ConfigError(f"--folder {options.folder} exists; name a new one")
    if find_spec("psutil") is None:
        raise ConfigError("the soak test needs psutil, which is not installed: " + install_command("dolphin"))
    check_plan(options.chaos, processes=options.game_type in ("mock", "dolphin"))
    from scripts.studies.soak.run import failures, soak, table

    exit_on_signals()  # ends the trainer with this process
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary) / "soak").absolute()
        words = training(options.game_type, options.chaos, folder) + options.options
        figures = soak(words, folder, options.minutes, tell_error)
    fake = options.game_type == "dolphin" and "--dolphin" not in options.options
    command = this_command("soak", without=("--folder", str(options.folder), f"--folder={options.folder}"))
    figures = {"game": "Dolphin's stand-in" if fake else options.game_type, "command": command, **figures}
    document = {**figures, "failures": failures(figures)}
    if options.json:
        print(json.dumps(document, indent=1))
    else:
        print("\n".join(f"{name}: {value}" for name, value in document.items()))
    if options.write:
        data = ROOT / "docs" / "data"
        write_json(data / f"soak_{options.game_type}.json", document)
        found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(data.glob("soak_*.json"))]
        put_between(ROOT / "docs" / "trainer/internals/reliability.md", "soak", table(found))
    return 1 if document["failures"] else 0


def training(game: str, chaos: str | None, folder: Path) -> list[str]:
    """Arguments of the training; a fake Dolphin is written beside the folder."""
    words = ["--game-type", game]
    if game == "mock":
        words += ["--preset", "laptop", "--pretrained", "none", "--track-elo", "--host", "process"]
    elif game == "dolphin":
        from tests.support.fake_dolphin.disc import Disc
        from tests.support.fake_dolphin.write import write_stand_in

        dolphin, disc = write_stand_in(folder.with_name(f"{folder.name}-stand-in"), Disc(pace=60.0))
        words += ["--dolphin", str(dolphin), "--iso", str(disc), "--num-games", "4", "--rollout-length", "32"]
        words += ["--max-episode-frames", "1200", "--set", "emulator.start_timeout=20"]
    return words if chaos is None else [*words, "--chaos", chaos]


if __name__ == "__main__":
    sys.exit(main())
