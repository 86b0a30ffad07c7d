"""Show the supervision tree of a run and its crashes, during training and afterwards. Needs no torch."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from selfplay.cli.parser import Parser
from selfplay.commands.cli import command
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from selfplay.checkpoint import RunDir

WIDE = 2000  # columns, where the output is no terminal
EVERY_S = 1.0


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument("run", nargs="?", metavar="RUN", help="run folder, or its name in checkpoints/ (default: newest)")
    made.add_argument("--crashes", type=_count, metavar="N", help="show the newest N crash reports in full")
    form = made.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON")
    form.add_argument("--watch", action="store_true", help="redraw every second until the trainer ends")
    return made


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of crashes such as 3")
    return int(text)


@command(parser)
def main(options: argparse.Namespace) -> None:
    from rich.console import Console

    from selfplay.checkpoint.run_dir import RunDir, named_run
    from selfplay.commands.run_status import NEWEST, examine
    from selfplay.report.tree import view

    run = RunDir(named_run(options.run))
    console = Console(width=None if sys.stdout.isatty() else WIDE, highlight=False)
    if options.watch:
        with suppress(KeyboardInterrupt):
            watch(run, console, options.crashes)
        return
    found = examine(run, options.crashes or NEWEST)
    if options.json:
        print(json.dumps(found.model_dump(mode="json"), indent=1))  # ASCII: untrusted text stays escaped
    else:
        console.print(view(found, options.crashes is not None))


def watch(run: RunDir, console: Console, crashes: int | None, sleep: Callable[[float], object] = time.sleep) -> None:
    """Draw the tree until the trainer has ended or the user interrupts; ConfigError without a terminal."""
    from rich.live import Live

    from selfplay.commands.run_status import NEWEST, examine
    from selfplay.report.tree import view

    if not console.is_terminal:
        raise ConfigError("--watch needs a terminal")
    found = examine(run, crashes or NEWEST)
    with Live(view(found, crashes is not None), console=console, auto_refresh=False) as live:
        while found.trainer is not None:
            sleep(EVERY_S)
            found = examine(run, crashes or NEWEST)
            live.update(view(found, crashes is not None), refresh=True)
