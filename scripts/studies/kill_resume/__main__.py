"""Kill-and-resume test: kill a small training run again and again, resume it, and check its files each time."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.studies import ROOT
from scripts.studies.command_line import Command, exit_on_signals, tell_error
from scripts.studies.kill_resume.kill_test import TRAININGS, KillTest, run_kill_test
from scripts.studies.kill_resume.page import document, write
from scripts.studies.pages import this_command
from selfplay.cli.ppo import parse
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    import argparse


def parser() -> Command:
    """All flags."""
    command = Command("kill_resume", __doc__, epilog="exit code: 1 where a check failed, else 0")
    command.add_argument("--kills", type=int, default=20, metavar="N", help="how many (default: %(default)s)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of the kill times (default: %(default)s)")
    command.add_argument(
        "--deterministic",
        action="store_true",
        help="kill a run of limited length, and compare it bit for bit with one that is not killed",
    )
    command.add_argument("--folder", type=Path, metavar="PATH", help="a new folder, in which all files stay")
    command.add_argument("--game-type", choices=TRAININGS, default="mock", help="(default: %(default)s)")
    command.add_argument("--json", action="store_true", help="print the figures as JSON")
    command.add_argument("--write", action="store_true", help="put the figures into docs")
    command.add_argument("arguments", nargs="*", metavar="-- ARGS", help="more flags of selfplay train")
    return command


def check(given: argparse.Namespace) -> None:
    """Refuse invalid options before anything starts.

    Raises:
        ConfigError: names the flag.
    """
    if given.kills < 1:
        raise ConfigError(f"--kills is {given.kills}; valid: 1 or more")
    if given.folder is not None and given.folder.exists():
        raise ConfigError(f"--folder {given.folder} exists; name a new folder")
    if given.deterministic and given.game_type != "mock":
        raise ConfigError(f"--deterministic needs a fighting game; {given.game_type} is none")
    if given.game_type == "mock":
        parse([*TRAININGS["mock"], *given.arguments])


def run(given: argparse.Namespace) -> int:
    """Run the test and print the figures; 1 where a check failed."""
    check(given)
    exit_on_signals()  # ends the training with this process
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary) / "kill_resume").absolute()
        test = KillTest(folder, given.kills, given.seed, given.game_type, given.deterministic, tuple(given.arguments))
        result = run_kill_test(test, tell_error)
    found = document(test, result, this_command("kill_resume", without=["--write"]))
    print(json.dumps(found, indent=1) if given.json else "\n".join(f"{name}: {found[name]}" for name in found))
    if given.write:
        write(ROOT / "docs", found)
    return 1 if result.faults else 0


def main() -> int:
    return parser().execute(run)


if __name__ == "__main__":
    sys.exit(main())
