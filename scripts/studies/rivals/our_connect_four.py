"""This project on Connect Four: ``python -m scripts.studies.rivals.our_connect_four GAMES THREADS ITERATIONS``."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from envs.distribution import version
from envs.pettingzoo_games import adapted
from envs.plugins import allow
from envs.vector import SyncVectorGame
from scripts.studies import ROOT
from scripts.studies.bench.loop import _supervised as supervised
from scripts.studies.rivals.programs.boards import SPENT, TimedGame, answer, timed
from scripts.studies.rivals.programs.job import Laps
from selfplay.checkpoint import RunDir
from selfplay.config.fighting import Config
from selfplay.config.presets import FIGHTING
from selfplay.train.fighting.session import Hooks, Session

if TYPE_CHECKING:
    from selfplay.report.metrics import IterationReport

GAME: Final = "scripts.studies.rivals.our_connect_four:TimedBlock"


class TimedBlock(SyncVectorGame):
    """The games through our adapter, timed."""

    reset = timed("block", SyncVectorGame.reset)
    step = timed("block", SyncVectorGame.step)

    def __init__(self, num_games: int) -> None:
        super().__init__(lambda: adapted(TimedGame()), num_games)


def session_of(folder: Path, games: int, threads: int, iterations: int, hooks: Hooks | None = None) -> Session:
    """A run with the preset ``board``, whose newest weights play both seats; it saves before its last iteration.

    The games are in one block, since Python runs one of them at a time. The threads are those of the update.
    """
    allow(GAME, str(ROOT))
    values: dict[str, dict[str, Any]] = {group: dict(each) for group, each in FIGHTING["board"].items()}
    run = {"num_games": games, "timesteps": games * values["ppo"]["rollout_length"] * iterations, "runners": 1}
    run |= {"threads": threads, "save_interval": max(1, iterations - 1)}
    values["run"] |= {**run, "checkpoint": str(folder)}
    values["league"] |= {"mode": "latest", "track_elo": False}
    return Session(
        Config.model_validate({**values, "game": {"type": GAME}}), RunDir(folder), "cpu", hooks=hooks or Hooks()
    )


def train(games: int, threads: int, iterations: int) -> tuple[list[int], Laps]:
    """Agent-steps that were learned from, and times, of each iteration under the supervision tree."""
    rows, laps = [], Laps()
    ends = [time.perf_counter()]

    def ended(report: IterationReport) -> None:
        ends.append(time.perf_counter())
        SPENT.lap()
        rows.append(report.experiences)
        laps.total.append(ends[-1] - ends[-2])
        laps.rollout.append(report.phase_s["collect"])
        laps.update.append(report.phase_s["update"])

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(supervised(session_of(Path(folder), games, threads, iterations, Hooks(callbacks=(ended,)))))
    return rows, laps


def main() -> None:
    """Run one sample and print the times."""
    rows, laps = train(*map(int, sys.argv[1:]))
    answer(version(), rows, laps)


if __name__ == "__main__":
    main()
