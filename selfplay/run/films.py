"""Films of new generations for the trackers, made by ``selfplay watch`` in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.distribution import python_path
from selfplay.runner.process_reaper import ProcessReaper, kill_group

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.report.reporter import Feed
    from selfplay.report.trackers.tracking import Tracking
    from selfplay.run.training import RunSession

FILM: Final = "film"
EVERY_S: Final = 600.0  # between films: each takes seconds of a processor from training
LIMIT_S: Final = 600.0  # for one film, beside the training
LAST_S: Final = 120.0  # for that of the last generation, for which the end of the run waits
NICE: Final = 5


class Films:
    """Makes one film at a time. ``flags`` are those that allow the code of the run."""

    def __init__(
        self, run: RunDir, tracking: Tracking, notice: Callable[[str], object], flags: Sequence[str] = ()
    ) -> None:
        self._run, self._tracking, self._notice, self._flags = run, tracking, notice, flags
        self._thread: threading.Thread | None = None
        self._began = -EVERY_S
        self._failed = False

    def take(self, step: int) -> None:
        """Film the newest generation, unless a film is being made, or was a short while ago. Never blocks."""
        now = time.monotonic()
        if now - self._began >= EVERY_S and (self._thread is None or not self._thread.is_alive()):
            self._began = now
            self._thread = threading.Thread(target=self._film, args=(step, LIMIT_S), name="film", daemon=True)
            self._thread.start()

    def take_last(self, step: int) -> None:
        """Film the newest generation, or wait for the film that is being made. Blocks."""
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(LAST_S)
            if self._thread.is_alive():
                self._notice(f"No film of the last generation: it takes longer than {LAST_S:.0f} s")
        else:
            self._film(step, LAST_S)

    def _film(self, step: int, limit_s: float) -> None:
        path = self._run.films / f"step_{step}.gif"
        try:
            film(self._run.path, path, limit_s, self._flags)
        except (OSError, subprocess.SubprocessError) as error:
            if not self._failed:
                self._notice(f"No film at step {step}: {why(error)}")
            self._failed = True
        else:
            self._tracking.video(step, FILM, path)


def films_of(session: RunSession, feed: Feed) -> Films | None:
    """What films the generations of a run; None without trackers, or without a film of its game."""
    if not feed.tracking or session.film_flags is None:
        return None
    return Films(session.run, feed.tracking, feed.notice, session.film_flags)


def film(what: Path, path: Path, limit_s: float, flags: Sequence[str] = ()) -> None:
    """Write the best moment of a game of a run's newest generation, or of a policy, as a GIF. Blocks.

    OSError or SubprocessError if that fails or takes longer.
    """
    reaper = ProcessReaper()
    made = reaper.folder / "film.gif"  # nothing is left of it if this process ends
    command = [sys.executable, "-m", "selfplay", "watch", str(what), "--out", str(made), *flags]
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=reaper.environment | {"PYTHONPATH": python_path(), "CUDA_VISIBLE_DEVICES": ""},
        ) as process:
            reaper.watch(process.pid)
            os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
            try:
                _, said = process.communicate(timeout=limit_s)
            except BaseException:
                kill_group(process.pid)
                raise
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command, stderr=said)
        path.parent.mkdir(exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        shutil.copyfile(made, temporary)
        temporary.replace(path)
    finally:
        reaper.close()


def why(error: OSError | subprocess.SubprocessError) -> str:
    """Why ``film`` failed: the last line of what its process said, else the error itself."""
    said = error.stderr if isinstance(error, subprocess.CalledProcessError) else ""
    return next((line.strip() for line in reversed(said.splitlines()) if line.strip()), str(error))
