"""The standard streams of a command, whatever they are connected to; imports the standard library only.

Text that an encoding lacks is printed in ASCII, a closed stream is replaced by the null device, and a pipe whose reader
has gone ends the command without a message.
"""

from __future__ import annotations

import codecs
import functools
import io
import os
import select
import sys
from collections.abc import Callable
from typing import Final, ParamSpec, TextIO

from selfplay.verbs import program

_Arguments = ParamSpec("_Arguments")

READER_GONE: Final = 128 + 13  # exit code that a shell reports after SIGPIPE
ERRORS: Final = "selfplay_ascii"  # name of the error handler of the streams
_ASCII: Final = str.maketrans(
    {"±": "+-", "×": "x", "→": "->", "←": "<-", "…": "...", "–": "-", "·": ".", "●": "*", "═": "=", "─": "-", "│": "|"}
    | dict.fromkeys("├└┌┐┘┤┬┴┼", "+")
    | dict.fromkeys("█▇▆▅▄▃▂▁▀", "#")
)


def command(main: Callable[_Arguments, int]) -> Callable[_Arguments, int]:
    """Decorate a function that returns an exit code: it may print to any standard streams."""

    @functools.wraps(main)
    def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> int:
        _prepare()
        try:
            try:
                return main(*args, **kwargs)
            finally:
                _flush()
        except BrokenPipeError:
            gone = [stream for stream in (sys.stdout, sys.stderr) if _reader_is_gone(stream)]
            if not gone:
                raise
            for stream in gone:
                _discard(stream)
            return READER_GONE

    return run


def _prepare() -> None:
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        _occupy(number)
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  (for the rest of the process)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERRORS if number else "replace")


def _occupy(number: int) -> None:
    """Open the null device as a descriptor that is closed: files that are opened later must not take its place."""
    try:
        os.fstat(number)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        if null != number:
            os.dup2(null, number)
            os.close(null)
        os.set_inheritable(number, True)


def _flush() -> None:
    """Write what is buffered.

    Raises:
        BrokenPipeError: the reader of a pipe has gone.
        SystemExit: writing failed for another reason, such as a full disk; a message says so.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            _discard(stream)
            sys.stderr.write(f"{program()}: the output cannot be written: {error.strerror or error}\n")
            raise SystemExit(1) from None


def _reader_is_gone(stream: TextIO) -> bool:
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        return False
    poll = select.poll()
    poll.register(number, select.POLLOUT)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))


def _discard(stream: TextIO) -> None:
    """Send what is still buffered, which the interpreter writes as it ends, to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replacements of characters that the encoding lacks: what looks alike, else an escape that JSON has, too."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_alike, error.object[error.start : error.end])), error.end


def _alike(character: str) -> str:
    alike = character.translate(_ASCII)
    if alike.isascii():
        return alike
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


codecs.register_error(ERRORS, _in_ascii)
