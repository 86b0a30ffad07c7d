"""A training run in a process of its own: started, killed at a chosen moment, and looked for afterwards."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from selfplay.errors import RunnerError
from selfplay.trainer.torture.survey import saving

if TYPE_CHECKING:
    from collections.abc import Sequence

    from selfplay.checkpoint import RunDir

SCRIPT: Final = Path(__file__).resolve().parents[3] / "scripts" / "train_self_play.py"
MARK: Final = "SELFPLAY_TORTURE"  # in the environment of everything that a victim starts
POLL_S: Final = 0.0005  # a save of a tiny network takes a few ms
PATIENCE_S: Final = 600.0  # for a moment that does not come; the first start may compile the rules
ORPHANS_S: Final = 20.0  # for what sees to it that nothing is left of a run
_RESUMED: Final = re.compile(r"Resumed at\s*: iteration (\d+)")

Kind = Literal["start", "save", "any"]


@dataclass(frozen=True, slots=True)
class Moment:
    """When to kill: ``after_s`` seconds from the start or from the first save, or in the ``nth`` save."""

    kind: Kind
    after_s: float = 0.0
    nth: int = 1


class Victim:
    """One start of a run.

    Args:
        run: Its folder.
        arguments: Of ``train_self_play.py``.
        log: Where what it shows goes.
    """

    def __init__(self, run: RunDir, arguments: Sequence[str], log: Path) -> None:
        self._run = run
        self._log = log
        self._mark = f"{MARK}={os.getpid()}-{log.name}"
        name, _, value = self._mark.partition("=")
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, str(SCRIPT), "--checkpoint", str(run.path), *arguments],
                stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONUNBUFFERED": "1", name: value},
                start_new_session=True,
            )  # fmt: skip

    def kill(self, moment: Moment) -> int | None:
        """Kill it at that moment; its exit code where it ended before.

        Raises:
            RunnerError: the moment never came.
        """
        try:
            self._await(moment)
        finally:
            code = self._kill()
        return None if code == -signal.SIGKILL else code

    def end(self) -> int:
        """Wait for its own end; the exit code.

        Raises:
            RunnerError: it does not come.
        """
        try:
            return self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise RunnerError(f"a run did not end in {PATIENCE_S:g} s; it said: {self.said()[-500:]}") from None
        finally:
            self._kill()

    def _kill(self) -> int:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        return self._process.wait()

    def said(self) -> str:
        """What it has shown."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def resumed_at(self) -> int | None:
        """The iteration that it went on from, as far as it came to say so."""
        found = _RESUMED.search(self.said())
        return None if found is None else int(found[1])

    def orphans(self) -> list[int]:
        """Processes of it that are still there after what cleans up has had its time; they are killed."""
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
                except OSError:  # it has ended, or is somebody else's
                    continue
                if mine and state != "Z":
                    found.append(int(folder.name))
        return found

    def _await(self, moment: Moment) -> None:
        started = time.monotonic()
        if moment.kind == "start":
            self._sleep(moment.after_s)
            return
        saves, busy = 0, True  # what an earlier kill left is no save of this start
        while saves < moment.nth and self._process.poll() is None:
            now = next(saving(self._run), None) is not None
            saves += now and not busy
            busy = now
            if time.monotonic() - started > PATIENCE_S:
                raise RunnerError(f"a run did not save in {PATIENCE_S:g} s; it said: {self.said()[-500:]}")
            time.sleep(POLL_S)
        if moment.kind == "any":
            self._sleep(moment.after_s)

    def _sleep(self, seconds: float) -> None:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return
