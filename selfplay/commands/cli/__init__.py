"""One module for each verb of the command line."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

# Set before torch and numpy are loaded. Threads that wait sleep; those of numpy always spin, so there is only one.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def command(
    parser: Callable[[], argparse.ArgumentParser], *, one_thread: bool = False
) -> Callable[[Callable[[argparse.Namespace], int | None]], Callable[[], int]]:
    """Decorate what a verb does with its arguments: it parses those of the command line, and returns the exit code.

    ``one_thread``: torch's threads spin, and a few players are too little for two.
    """

    def decorate(run: Callable[[argparse.Namespace], int | None]) -> Callable[[], int]:
        def main() -> int:
            from selfplay.cli.running import run_command

            if one_thread:
                os.environ.setdefault("OMP_NUM_THREADS", "1")
            return run_command(parser, run)

        return main

    return decorate
