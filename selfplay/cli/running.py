"""Runs a command and turns its errors into one line and an exit code."""

from __future__ import annotations

import argparse
import atexit
import gc
import sys
from collections.abc import Callable

from selfplay import console, verbs
from selfplay.distribution import missing_extra
from selfplay.errors import SelfPlayError, out_of_memory
from selfplay.games.errors import LONGEST_LINE, GameError, shortened
from selfplay.games.files import printable


@console.command
def exit_code(program: str, command: Callable[[], int | None]) -> int:
    """Run a command; its exit code, 0 where it returns none. What a user did wrong is one line, not a traceback."""
    atexit.register(gc.freeze)  # otherwise Python looks for cycles among all objects of torch, for a second
    try:
        return command() or 0
    except SelfPlayError as error:
        _tell(program, str(error))
        return error.exit_code
    except GameError as error:
        _tell(program, str(error))
        return 2
    except ModuleNotFoundError as error:
        if (told := missing_extra(error)) is None:
            raise
        _tell(program, told)
        return 2
    except (MemoryError, RuntimeError) as error:
        if (lack := out_of_memory(error)) is None:
            raise
        _tell(program, f"memory ran out: {lack}")
        return 1
    except KeyboardInterrupt:
        return 130


def _tell(program: str, message: str) -> None:
    """Print an error message for the user."""
    sys.stderr.write(shortened(printable(verbs.respelled(f"{program}: {message}")), LONGEST_LINE) + "\n")


def run_command(parser: Callable[[], argparse.ArgumentParser], run: Callable[[argparse.Namespace], int | None]) -> int:
    """Parse the arguments and run a command; its exit code, see ``exit_code``."""
    return exit_code(verbs.program(), lambda: run(parser().parse_args()))
