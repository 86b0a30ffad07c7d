"""A program of others that answers lines with lines, as a child process with one owner and limits of time."""

from __future__ import annotations

import subprocess
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from selfplay.games.errors import GameError

LIMIT_S: Final = 120.0  # for an answer
ENDING_S: Final = 1.0  # between the end of its output and of the process


class LineProgram:
    """A program that answers lines with lines. It is started by the first question."""

    def __init__(self, command: Sequence[str], limit_s: float = LIMIT_S) -> None:
        self._command = command
        self._limit_s = limit_s
        self._process: subprocess.Popen[str] | None = None

    def ask(self, lines: Sequence[str], is_last: Callable[[str], bool], answers: int = 1) -> list[str]:
        """Send lines; the lines of all answers.

        Args:
            lines: Of the question.
            is_last: Whether a line ends an answer.
            answers: To wait for.

        Raises:
            GameError: the program ended, or did not answer in time; it is killed.
        """
        process = self._process = self._process or self._start()
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._limit_s, end)
        timer.start()
        try:
            return self._exchange(process, lines, is_last, answers)
        except OSError as error:
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDING_S)
            self.close()
            ended = f"ended with status {process.returncode}"
            why = f"did not answer within {self._limit_s:g} s" if late.is_set() else ended
            raise GameError(f"{self._command[0]} {why}; it was asked: {lines[-1]}") from error
        finally:
            timer.cancel()
            timer.join()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._end()
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            self._command,
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # an interrupt from the keyboard does not reach it
        )
        self._end = weakref.finalize(self, _end, process)
        return process

    @staticmethod
    def _exchange(
        process: subprocess.Popen[str], lines: Sequence[str], is_last: Callable[[str], bool], answers: int
    ) -> list[str]:
        if process.stdin is None or process.stdout is None:
            raise BrokenPipeError
        process.stdin.write("".join(f"{line}\n" for line in lines))
        process.stdin.flush()
        found: list[str] = []
        while answers:
            line = process.stdout.readline()
            if not line:
                raise BrokenPipeError
            found.append(line.rstrip())
            answers -= is_last(found[-1])
        return found


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None and not pipe.closed:
            with suppress(BrokenPipeError):
                pipe.close()
    process.wait()
