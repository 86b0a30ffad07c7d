"""Growth with the rows of the ledger: appending, opening, reading and rating them."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from scripts.studies.growth.invented import games as invented
from scripts.studies.growth.invented import ladder
from scripts.studies.growth.series import Measured, Series, seconds
from selfplay.league.leaderboard import build
from selfplay.league.ledger import FILE_NAME, Ledger, read_games
from selfplay.league.ratings import rate

SIZES: Final = (1_000, 3_200, 10_000, 32_000, 100_000, 320_000, 1_000_000)
PLAYERS: Final = 50
BATCH: Final = 96  # games that are rated at a time
BATCHES: Final = 10
_CHUNK: Final = 10_000


def measure_ledger(sizes: Sequence[int], tell: Callable[[str], None]) -> list[Series]:
    """Seconds of each operation by rows of 50 players, and the memory of a writer."""
    measured = Measured("ledger")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE_NAME
        for size in sizes:
            tell(f"{size:,} rows")
            _fill(path, size)
            _measure_writer(measured, path, size)
            measured.add("reading", size, seconds(lambda: read_games(path), calls=3))
            _measure_memory(measured, path, size)
    return measured.all


def _measure_writer(measured: Measured, path: Path, size: int) -> None:
    """Operations of a run: at its start, and for each batch of rating games."""
    opened: list[Ledger] = []
    measured.add("opening", size, seconds(lambda: opened.append(Ledger.open(path)), calls=1))
    with opened[0] as ledger:
        measured.add("ratings and intervals", size, seconds(lambda: rate(ledger.games()), calls=5))
        measured.add("leaderboard, all of it", size, seconds(lambda: build(ledger.games()), calls=5))
        players = ladder(PLAYERS)
        batches = [
            list(invented(players, BATCH, np.random.default_rng(i), start=2**40 + size * 1000 + i * BATCH))
            for i in range(BATCHES)
        ]
        appending = seconds(lambda: ledger.append(batches.pop()), calls=BATCHES)
        measured.add(f"appending {BATCH} games", size, appending, "log n")


def _measure_memory(measured: Measured, path: Path, size: int) -> None:
    """Bytes that Python and numpy allocate; resident memory would depend on earlier allocations."""
    tracemalloc.start()
    try:
        with Ledger.open(path):
            kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    measured.add("memory of a writer", size, kept, unit="bytes")
    measured.add("memory while opening", size, peak, unit="bytes")


def _fill(path: Path, size: int) -> None:
    """Append rows up to this number."""
    with Ledger.open(path) as ledger:
        there = ledger.rows
        new = invented(ladder(PLAYERS), size - there, np.random.default_rng(size), start=there)
        while chunk := list(islice(new, _CHUNK)):
            ledger.append(chunk)
