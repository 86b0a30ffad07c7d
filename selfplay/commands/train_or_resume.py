"""Training that a study wants done: to its end, from where it stands, and only if it is missing; and its progress."""

from __future__ import annotations

import io
import json
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from selfplay.config.program import Invocation
from selfplay.errors import ConfigError
from selfplay.games.files import last_line
from selfplay.ppo.rating import config_of
from selfplay.ppo.train import train

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.config.ppo import Config

EVERY_S: Final = 1.0  # between two looks at the metrics of a training


def is_finished(run: RunDir, timesteps: int | None) -> bool:
    """Whether a run was trained to its end; ConfigError if it has another number of steps than ``timesteps``."""
    if not run.has_begun():
        return False
    there = config_of(run).run.timesteps
    if there != timesteps:
        raise ConfigError(f"{run.path} holds a run of {there:,} steps, not {timesteps:,}; name another folder")
    return run.summary_json.exists() and bool(run.read_summary()["finished"])


def finish(run: RunDir, config: Config, explicit: Mapping[str, Any] | None = None, preset: str | None = None) -> int:
    """Train a run, with ``config`` if it is new, to its end without a word, or go on with it; the exit code. Blocks.

    ``explicit`` are values that were asked for; a run that has begun keeps its own.
    """
    place = {"run.checkpoint": str(run.path)}
    resume = run.has_begun()
    if not resume:
        shutil.rmtree(run.path, ignore_errors=True)  # left by a training that was killed before its first save
    given = place if resume or explicit is None else explicit
    return train(Invocation(config, resume, preset, given), io.StringIO())


@contextmanager
def followed(run: RunDir, at: Callable[[int], object], before: int = 0) -> Iterator[None]:
    """While the block trains a run, call ``at`` every second, from a thread, with ``before`` plus the steps done."""
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(EVERY_S):
            with suppress(ValueError, KeyError):  # the last line is being written
                at(before + int(json.loads(last_line(run.metrics))["total_steps"]))

    thread = threading.Thread(target=follow, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
