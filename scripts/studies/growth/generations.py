"""Growth with the generations of a run: seconds of a checkpoint, of a rating batch and of resuming.

A simulated run saves without playing: the same calls as ``selfplay.train.saving``, a default population, small
policies. A rating batch adds 8 games a generation, against the start, the anchor and others of the pool.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np

from scripts.studies.growth.invented import fixture, strength
from scripts.studies.growth.players import rating_parts, shown_parts
from scripts.studies.growth.series import Measured, Series, seconds
from selfplay.checkpoint import (
    ActionHeads,
    LearnerMeta,
    NetworkSpec,
    PolicyMeta,
    Retention,
    create_run,
    list_generations,
    load_latest_learner,
    retain,
    set_aside_newer,
    write_learner,
)
from selfplay.config.fighting import LeagueConfig
from selfplay.league.leaderboard import analyse
from selfplay.league.ledger import Ledger
from selfplay.league.matchmaker import Matchmaker
from selfplay.league.modes import CURRENT
from selfplay.league.ratings import rate
from selfplay.league.records import ANCHOR, START, generation_id
from selfplay.train.fighting.archive import Archive

SIZES: Final = (30, 100, 300, 1_000, 3_200, 10_000)
MODE: Final = "league"
NEWEST: Final = 40  # checkpoints that are measured
INTERVAL: Final = 10  # iterations between generations
GAMES: Final = 64
MET: Final = 4  # opponents of a generation in rating games


def measure_generations(sizes: Sequence[int], tell: Callable[[str], None]) -> list[Series]:
    """Seconds by the number of generations of a run, most of which have left the pool."""
    measured = Measured("generations")
    with tempfile.TemporaryDirectory() as folder:
        simulated = _SimulatedRun(Path(folder) / "run")
        for size in sizes:
            tell(f"{size:,} generations")
            for name, times in simulated.advance(size).items():
                measured.add(name, size, _usual(times[-NEWEST:]), "log n")
            measured.add("state on the disk", size, simulated.state_bytes, "log n", "bytes")
            measured.add("resuming", size, seconds(simulated.resumed, calls=5))
            measured.add("list of generations", size, seconds(lambda: list_generations(simulated.run)))
            _measure_ratings(measured, simulated, size)
        simulated.close()
    return measured.all


def _measure_ratings(measured: Measured, simulated: _SimulatedRun, size: int) -> None:
    rows, players = simulated.ledger.games(), [ANCHOR, *simulated.archive.generations]
    ratings = rate(rows, players=players)
    for name, call in rating_parts(rows, ratings, players).items():
        measured.add(name, size, seconds(call, calls=3))
    for name, call in shown_parts(analyse(rows), simulated.run.rating_events).items():
        measured.add(name, size, seconds(call, calls=3))


def _usual(times: Sequence[float]) -> float:
    """The lower quartile: load of the machine adds time, and the fastest checkpoint may have had less to do."""
    return sorted(times)[len(times) // 4]


class _SimulatedRun:
    """A run that only saves."""

    def __init__(self, path: Path) -> None:
        self.run = create_run(path)
        self.archive = Archive(self.run, LeagueConfig().population)
        self.ledger = Ledger.open(self.run.ledger)
        self._maker = _matchmaker()
        self._rng = np.random.default_rng(1)
        self._generations = 0

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def advance(self, generations: int) -> dict[str, list[float]]:
        """Add generations up to this number; seconds of each part, for each new generation."""
        times: dict[str, list[float]] = {}
        while self._generations < generations:
            for name, part in {
                "iteration's opponents": self._play,
                "rating games": self._rate,
                "checkpoint": self._save,
            }.items():
                times.setdefault(name, []).append(seconds(part, calls=1))
            self._generations += 1
        return times

    @property
    def state_bytes(self) -> int:
        """Size of the newest learner state."""
        newest = load_latest_learner(self.run).path
        return sum(file.stat().st_size for file in newest.iterdir())

    def resumed(self) -> None:
        """Load everything that a resumed run loads."""
        with self.run.lock():
            state = load_latest_learner(self.run)
            set_aside_newer(self.run, state.meta.iteration)
            Archive(self.run, LeagueConfig().population).restore(state.meta.generations, state.meta.extra)
            _matchmaker().restore(state.meta.matchmaker)

    def _play(self) -> None:
        self._maker.rotate()
        drawn = [opponent.id for opponent in self._maker.draw(GAMES) if opponent.id != CURRENT]
        self._maker.record({name: [1.0, 0.0] for name in drawn})

    def _rate(self) -> None:
        pool, newest = self.archive.generations, generation_id(INTERVAL * (self._generations - 1))
        if newest not in pool:
            return
        others = {ANCHOR, START, *self._rng.choice(pool, MET).tolist()} - {newest}
        games = [game for other in sorted(others) for game in fixture(newest, other, self._generations, self._rng)]
        self.ledger.append(games)

    def _save(self) -> None:
        archive, iteration = self.archive, INTERVAL * self._generations
        weights = np.full(100, self._generations, np.float32)
        archive.save(_policy(iteration), {"weights": weights})
        if archive.is_full:
            archive.prune({name: strength(name) for name in archive.generations}, self._maker.bench)
        self._maker.set_pool(archive.generations, archive.exploiters)
        meta = LearnerMeta(
            iteration=iteration,
            total_steps=iteration,
            elapsed_s=0.0,
            created=datetime.now(UTC),
            matchmaker=self._maker.state(),
            ledger_position=self.ledger.rows,
            generations=tuple(archive.generations),
            extra=archive.state(),
        )
        write_learner(self.run, meta, {"params/weights": weights})
        retain(self.run, iteration, Retention())
        archive.sweep()


def _matchmaker() -> Matchmaker:
    return Matchmaker(MODE, np.random.default_rng(0), (ANCHOR,))


def _policy(iteration: int) -> PolicyMeta:
    return PolicyMeta(
        id=generation_id(iteration),
        iteration=iteration,
        network=NetworkSpec(obs_width=1, hidden=(1,)),
        actions=ActionHeads(binary=1, sizes=(2,)),
        encoder_version=1,
        frame_skip=1,
        delay=0,
        characters=("fox",),
        stage="battlefield",
        created=datetime.now(UTC),
    )
