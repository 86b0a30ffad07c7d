"""Errors of the games.

GameError            a game was used or fed wrongly; the message names what, where and what is valid
├── ActionError      an action has the wrong shape or type, or a value out of range (names seat and field)
├── UnknownNameError a game, player or value that does not exist (names the nearest valid ones)
├── EnumerationError a game cannot be written down whole (names what it draws, or how far it was followed)
└── ContractError    a game does not keep what ``VectorGame`` promises (names the promise and where it broke)
"""

from __future__ import annotations

import re
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from selfplay.games.spelling import nearest

_SELFPLAY: Final = Path(__file__).resolve().parents[1]
_NOT_OWN: Final = (
    "<", str(_SELFPLAY), str(_SELFPLAY.parent / "envs" / "selfplay_"), *sysconfig.get_paths().values(),
)  # fmt: skip
"""Where files begin that are not those of a user: generated code, ours, Python's and those of installed packages."""

LONGEST_MESSAGE: Final = 1000  # characters of a line; messages that name several files are long
LONGEST_LINE: Final = 1100  # with the name of the program
_LONG_WORD: Final = re.compile(r"\S{300,}")


def shortened(message: str, limit: int = LONGEST_MESSAGE) -> str:
    """A message that quotes of an input no more than people read.

    The middle of very long words is left out, and then, of lines above the limit, the middle of the line.
    """
    return "\n".join(_shortened(line, limit) for line in message.split("\n"))


def _shortened(line: str, limit: int) -> str:
    line = _LONG_WORD.sub(lambda word: f"{word[0][:40]}...{word[0][-40:]}", line)
    if len(line) <= limit:
        return line
    gap = f" ... {len(line):,} characters in all ... "
    tail = (limit - len(gap)) // 3  # what is valid stands at the end
    return f"{line[: limit - len(gap) - tail]}{gap}{line[-tail:]}"


class GameError(Exception):
    """Root of everything that the games raise on purpose; what it says is ``shortened``."""

    def __str__(self) -> str:
        return shortened(super().__str__())


@contextmanager
def error_context(where: str | Callable[[], str]) -> Iterator[None]:
    """Raise errors of code from outside this package as a GameError that begins with the place.

    The message ends with the innermost file and line of the user's own, if there is one in the traceback.
    """
    try:
        yield
    except Exception as error:
        why = str(error) if isinstance(error, GameError) else f"{type(error).__name__}: {error}{_own_line(error)}"
        raise GameError(f"{where if isinstance(where, str) else where()}: {why}") from error


def _own_line(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f" ({frame.filename}:{frame.lineno})" for frame in frames if not frame.filename.startswith(_NOT_OWN)]
    return own[-1] if own else ""


class ActionError(GameError):
    """An action that no controller can express."""


class UnknownNameError(GameError):
    """A name that is not in a registry."""

    def __init__(self, kind: str, name: str, valid: Iterable[str], meant: str | None = None) -> None:
        names = sorted(valid)
        near = meant or nearest(name, names)
        hint = f"; did you mean {near!r}?" if near else ""
        super().__init__(f"unknown {kind} {name!r}{hint} (valid: {', '.join(names)})")


class ContractError(GameError):
    """A game that breaks the contract of its interface."""


class EnumerationError(GameError):
    """A game that cannot be written down whole."""
