"""Check this machine for training and for the games, one line per check, with its remedy."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay import console
from selfplay.commands.doctor import software
from selfplay.distribution import entry_points

if TYPE_CHECKING:
    from selfplay.commands.doctor.finding import Check, GuestChecks


def parser() -> argparse.ArgumentParser:
    """The command line, with the flags of all games; those that the training has, too, mean what they mean there."""
    from selfplay.cli.parser import Parser

    made = Parser(description=__doc__)
    for guest in _guests():
        guest.add_flags(made)
    made.add_argument(
        "--checkpoint",
        type=Path,
        default=Path("checkpoints"),
        metavar="DIR",
        help="where runs go (default: %(default)s)",
    )
    made.add_argument("--json", action="store_true", help="as JSON")
    return made


def _guests() -> list[GuestChecks]:
    return [point.load() for point in entry_points("selfplay.doctor").values()]


def examine(checkpoints: Path, of_games: Sequence[Iterator[Check]]) -> Iterator[Check]:
    """The findings, each as soon as it is made; hashing a disc takes seconds, loading torch too."""
    from selfplay.commands.doctor import resources

    yield software.system()
    yield software.python()
    yield software.packages()
    yield software.torch()
    yield software.rules()
    yield software.compile_cache()
    for checks in of_games:
        yield from checks
    yield resources.checkpoint_disk(checkpoints)
    yield resources.temporary_disk()
    yield resources.shared_memory()
    yield resources.memory()
    yield resources.cores()


def run(options: argparse.Namespace) -> int:
    """Examine, print; 1 where something failed."""
    found = []
    for finding in examine(options.checkpoint, [guest.plan(options) for guest in _guests()]):
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
