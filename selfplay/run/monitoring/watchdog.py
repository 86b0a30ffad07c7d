"""A thread that ends the process when its event loop is blocked: nothing on the loop could.

It counts its own looks, and not seconds: while the whole process is stopped, or the machine asleep, it does not look
either, and its next look finds a loop that answers. Code that holds Python's global lock stops it, too.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from selfplay.report.tree_status import LINE, TEXT, Crash, cut
from selfplay.run.monitoring.crash_file import append_crash
from selfplay.run.monitoring.secrets import without_secrets

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from selfplay.checkpoint import RunDir

BLOCKED: Final = 3  # exit code of a process whose event loop was blocked
LOOKS: Final = 20  # within the time that the loop has to answer
LONGEST_S: Final = 1.0  # between two looks
LAST_S: Final = 10.0  # for writing down what blocks; after it the process ends without
ROOT: Final = Path(__file__).resolve().parents[3]


@dataclass(slots=True, eq=False)
class Silence:
    """Checks whether a loop still runs callbacks."""

    loop: AbstractEventLoop
    looks: int  # so many in a row without an answer, and it counts as blocked
    _missed: int = 0
    _answered: bool = True

    def look(self) -> bool:
        """Return True if the loop has not answered for too many checks. Call at even intervals, from one thread."""
        if self._answered:
            self._missed, self._answered = 0, False
            self.loop.call_soon_threadsafe(self._answer)
        else:
            self._missed += 1
        return self._missed >= self.looks

    def _answer(self) -> None:
        self._answered = True


class Watchdog:
    """Watches the loop of the thread that enters it, which may be blocked for ``timeout_s``, or with 0 for ever."""

    def __init__(self, loop: AbstractEventLoop, timeout_s: float, run: RunDir) -> None:
        looks = max(LOOKS, int(timeout_s / LONGEST_S))
        self._silence = Silence(loop, looks)
        self._tick_s = timeout_s / looks
        self._timeout_s = timeout_s
        self._run = run
        self._watched = threading.get_ident()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def __enter__(self) -> Watchdog:
        if self._timeout_s:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()

    def _watch(self) -> None:
        while not self._done.wait(self._tick_s):
            try:
                silent = self._silence.look()
            except RuntimeError:  # the loop is closed
                return
            if silent:
                return self._end_process()

    def _end_process(self) -> None:
        """Report what blocks, and end the process. Children end with it: by their pipe, their reaper, or the kernel."""
        last = threading.Timer(LAST_S, os._exit, [BLOCKED])  # whatever disk and terminal do
        last.daemon = True
        try:
            last.start()
            self._explain()
        finally:  # whatever went wrong with that
            last.cancel()
            os._exit(BLOCKED)

    def _explain(self) -> None:
        frame = sys._current_frames().get(self._watched)
        where = "an unknown place" if frame is None else place_of(frame)
        sentence = f"The event loop was blocked for {self._timeout_s:g} s by {where}; the run ends, --resume goes on"
        for write in (self._tell, self._dump, lambda _: self._report(sentence, frame)):
            with suppress(Exception):  # a full disk or a closed terminal must not keep the others from it
                write(sentence)

    def _tell(self, sentence: str) -> None:
        sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()
        faulthandler.dump_traceback(sys.__stderr__ or sys.stderr)

    def _dump(self, sentence: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(self._run.stacks, flags, 0o644), "w") as file:
            file.write(f"{sentence}\n\n")
            file.flush()
            faulthandler.dump_traceback(file)

    def _report(self, sentence: str, frame: FrameType | None) -> None:
        code = None if frame is None else frame.f_code
        stack = "" if frame is None else "".join(traceback.format_stack(frame))
        crash = Crash(
            time=datetime.now(UTC), id="event loop", incarnation=1, kind="blocked", started=True, restarts=0,
            lived_s=0, message=cut(sentence, LINE), first_cause=cut(sentence, LINE),
            file=cut(code.co_filename, LINE) if code else "", line=(frame.f_lineno or 0) if frame else 0,
            function=cut(code.co_qualname, LINE) if code else "", traceback=cut(without_secrets(stack), TEXT),
        )  # fmt: skip
        append_crash(self._run.crashes, crash)


def place_of(frame: FrameType) -> str:
    """Location of a thread: its innermost frame outside asyncio and, if that is a library's, our caller."""
    frames = [frame]
    while frames[-1].f_back is not None:
        frames.append(frames[-1].f_back)
    outside = [frame for frame in frames if "asyncio" not in Path(frame.f_code.co_filename).parts] or frames
    ours = next((frame for frame in outside if _is_ours(Path(frame.f_code.co_filename))), None)
    if ours is None or ours is outside[0]:
        return _named(outside[0])
    return f"{_named(outside[0])}, called by {_named(ours)}"


def _is_ours(path: Path) -> bool:
    return path.is_relative_to(ROOT) and "site-packages" not in path.parts  # the environment may lie in the checkout


def _named(frame: FrameType) -> str:
    path = Path(frame.f_code.co_filename)
    short = path.relative_to(ROOT) if _is_ours(path) else path.name
    return f"{frame.f_code.co_qualname} ({short}, line {frame.f_lineno})"
