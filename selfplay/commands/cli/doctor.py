"""Check this machine for training and for real games in Dolphin, one line per check, with its remedy."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from selfplay import console
from selfplay.commands.doctor import software
from selfplay.commands.doctor.finding import Check, PlannedRun
from selfplay_melee.dolphin.install import FIRST_PORT, LAST_PORT, SLIPPI_PORT


def parser() -> argparse.ArgumentParser:
    """The command line; flags that the training has, too, mean what they mean there."""
    from selfplay.cli.parser import Parser

    made = Parser(description=__doc__)
    made.add_argument("--dolphin", metavar="PATH", help="Slippi Dolphin: its folder or executable")
    made.add_argument("--iso", metavar="PATH", help="Melee 1.02 disc image")
    made.add_argument("--fast", action="store_true", help="do not hash the image, which reads 1.4 GB")
    made.add_argument("--headless", action="store_true", help="check for emulators without windows")
    made.add_argument("--fast-forward", action="store_true", help="check for emulators without a speed limit")
    made.add_argument(
        "--slippi-port", type=int, default=SLIPPI_PORT, metavar="N", help="first of their ports (default: %(default)s)"
    )
    made.add_argument("--num-games", type=int, default=1, metavar="N", help="emulators (default: %(default)s)")
    made.add_argument(
        "--checkpoint",
        type=Path,
        default=Path("checkpoints"),
        metavar="DIR",
        help="where runs go (default: %(default)s)",
    )
    made.add_argument("--json", action="store_true", help="as JSON")
    return made


def plan_of(options: argparse.Namespace) -> PlannedRun:
    """Convert parsed arguments to the run that is checked for; ConfigError for a number out of range."""
    from selfplay.errors import ConfigError

    if not FIRST_PORT <= options.slippi_port <= LAST_PORT:
        raise ConfigError(f"--slippi-port {options.slippi_port}: {FIRST_PORT} to {LAST_PORT} is valid")
    if options.num_games < 1:
        raise ConfigError(f"--num-games {options.num_games}: at least 1 is needed")
    return PlannedRun(
        dolphin=options.dolphin,
        iso=options.iso,
        slippi_port=options.slippi_port,
        num_games=options.num_games,
        headless=options.headless,
        fast_forward=options.fast_forward,
        hash_disc=not options.fast,
        checkpoints=options.checkpoint,
    )


def examine(plan: PlannedRun) -> Iterator[Check]:
    """The findings, each as soon as it is made; hashing a disc takes seconds, loading torch too."""
    from selfplay.commands.doctor import resources
    from selfplay_melee.commands import doctor as emulator

    yield software.system()
    yield software.python()
    yield software.packages()
    yield software.torch()
    yield software.rules()
    yield software.compile_cache()
    yield software.libmelee(plan)
    finding, dolphin = emulator.dolphin(plan)
    yield finding
    yield from filter(None, (emulator.build(plan, dolphin), emulator.app_image(dolphin)))
    yield emulator.disc(plan, dolphin)
    yield emulator.ports(plan)
    yield emulator.display(plan, dolphin)
    yield resources.checkpoint_disk(plan)
    yield resources.temporary_disk()
    yield resources.shared_memory()
    yield resources.memory(plan)
    yield resources.cores(plan)


def run(options: argparse.Namespace) -> int:
    """Examine, print; 1 where something failed."""
    found = []
    for finding in examine(plan_of(options)):
        found.append(finding)
        if not options.json:
            print(finding.line(), flush=True)
    passed = all(finding.level != "FAIL" for finding in found)
    if options.json:
        print(json.dumps({"passed": passed, "checks": [asdict(finding) for finding in found]}))
    return 0 if passed else 1


@console.command
def main() -> int:
    try:
        from selfplay.cli.running import run_command
    except ImportError:  # packages are missing: that much can be checked without them
        print("\n".join(check().line() for check in (software.system, software.python, software.packages)))
        return 1
    return run_command(parser, run)
