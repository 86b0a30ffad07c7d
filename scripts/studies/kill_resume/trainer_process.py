"""A training run in a process of its own, which is killed at a chosen time."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from scripts.studies import TRAINER
from scripts.studies.kill_resume.inspect_run import unfinished_saves
from selfplay.errors import RunnerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from selfplay.checkpoint import RunDir

MARK: Final = "SELFPLAY_KILL_TEST"  # environment variable that marks all processes of a trainer
POLL_S: Final = 0.0005  # a save of a tiny network takes a few ms
DEADLINE_S: Final = 600.0  # for a save or the end; the first start may compile the rules
ORPHANS_S: Final = 20.0  # in which child processes of a killed trainer must end
_RESUMED: Final = re.compile(r"Resumed at\s*: iteration (\d+)")

Kind = Literal["start", "save", "any"]


@dataclass(frozen=True, slots=True)
class KillTime:
    """When to kill: ``after_s`` seconds after the start or after the first save, or in the ``nth`` save."""

    kind: Kind
    after_s: float = 0.0
    nth: int = 1


class TrainerProcess:
    """One start of a run.

    Args:
        run: Its folder.
        arguments: Of ``selfplay train``.
        log: File for its output.
    """

    def __init__(self, run: RunDir, arguments: Sequence[str], log: Path) -> None:
        self._run = run
        self._log = log
        self._mark = f"{MARK}={os.getpid()}-{log.name}"
        name, _, value = self._mark.partition("=")
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [*TRAINER, "--checkpoint", str(run.path), *arguments],
                stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONUNBUFFERED": "1", name: value},
                start_new_session=True,
            )  # fmt: skip

    def kill(self, when: KillTime) -> int | None:
        """Kill it at that time; its exit code if it ended before, else None.

        Raises:
            RunnerError: no save came before the deadline.
        """
        try:
            self._await(when)
        finally:
            code = self._kill()
        return None if code == -signal.SIGKILL else code

    def end(self) -> int:
        """Wait until it ends; the exit code.

        Raises:
            RunnerError: it does not end before the deadline.
        """
        try:
            return self._process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            raise RunnerError(f"a run did not end in {DEADLINE_S:g} s; its output: {self.output()[-500:]}") from None
        finally:
            self._kill()

    def _kill(self) -> int:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        return self._process.wait()

    def output(self) -> str:
        """Its output so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def resumed_at(self) -> int | None:
        """The iteration at which it resumed, if it has printed it."""
        found = _RESUMED.search(self.output())
        return None if found is None else int(found[1])

    def orphans(self) -> list[int]:
        """Processes of it that are still alive after ``ORPHANS_S``; they are killed."""
        deadline = time.monotonic() + ORPHANS_S
        while (left := self._processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return left

    def _processes(self) -> list[int]:
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                    mine = self._mark.encode() in (folder / "environ").read_bytes().split(b"\0")
                except OSError:  # it has ended, or belongs to another user
                    continue
                if mine and state != "Z":
                    found.append(int(folder.name))
        return found

    def _await(self, when: KillTime) -> None:
        started = time.monotonic()
        if when.kind == "start":
            self._sleep(when.after_s)
            return
        saves, busy = 0, True  # leftovers of an earlier kill are no save of this start
        while saves < when.nth and self._process.poll() is None:
            now = next(unfinished_saves(self._run), None) is not None
            saves += now and not busy
            busy = now
            if time.monotonic() - started > DEADLINE_S:
                raise RunnerError(f"a run did not save in {DEADLINE_S:g} s; its output: {self.output()[-500:]}")
            time.sleep(POLL_S)
        if when.kind == "any":
            self._sleep(when.after_s)

    def _sleep(self, seconds: float) -> None:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return
