"""A command in this process, and what is wrong with its end."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from selfplay.__main__ import main
from selfplay.games.errors import LONGEST_LINE

if TYPE_CHECKING:
    from types import FrameType

LIMIT_S: Final = 120
MOST_LINES: Final = 12
_USER_ERROR: Final = 2


class _Hangs(BaseException):
    """A command has not ended in time."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended; ``trace`` is the traceback of an exception that no command may raise."""

    code: object
    said: str  # on standard error
    trace: str = ""

    @property
    def fault(self) -> str:
        """What is wrong, in a line; "" if the command ended well, or refused the document in a line."""
        lines = [line for line in self.said.splitlines() if line.strip()]
        if self.trace:
            return self.trace.strip().splitlines()[-1][:LONGEST_LINE]
        if self.code not in (0, _USER_ERROR):
            return f"exit code {self.code}: {' / '.join(lines)[-LONGEST_LINE:]}"
        if "Traceback" in self.said:
            return "a traceback on standard error"
        if widest := max((len(line) for line in lines if len(line) > LONGEST_LINE), default=0):
            return f"a line of {widest} letters"
        if len(lines) > MOST_LINES:
            return f"{len(lines)} lines"
        if self.code == _USER_ERROR and not (lines and lines[-1].startswith("selfplay ")):
            return "no line says what is wrong"
        return ""


def call(words: tuple[str, ...], folder: Path) -> Ended:
    """Run ``selfplay WORDS`` in a folder."""
    out, err = io.StringIO(), io.StringIO()
    before, arguments = Path.cwd(), sys.argv
    alarm = signal.signal(signal.SIGALRM, _hangs)
    timer = signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    os.chdir(folder)
    sys.argv = ["selfplay", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code: object = main()
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        raise
    except BaseException:
        return Ended(None, err.getvalue(), traceback.format_exc())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)
        signal.setitimer(signal.ITIMER_REAL, *timer)
        sys.argv = arguments
        os.chdir(before)
    return Ended(code, err.getvalue())


def _hangs(number: int, frame: FrameType | None) -> NoReturn:
    raise _Hangs(f"no end after {LIMIT_S} s")
