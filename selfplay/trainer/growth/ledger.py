"""Rows of the ledger: appending, opening, reading and rating them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.league.leaderboard import build
from selfplay.league.ledger import FILE_NAME, Ledger, read_games
from selfplay.league.ratings import rate
from selfplay.trainer.growth.invented import games as invented
from selfplay.trainer.growth.invented import ladder
from selfplay.trainer.growth.series import Measured, Series, seconds
from selfplay.trainer.machine import give_back_memory, resident_bytes

if TYPE_CHECKING:
    from selfplay.league.games import Games

SIZES: Final = (1_000, 3_200, 10_000, 32_000, 100_000, 320_000, 1_000_000)
PLAYERS: Final = 50
BATCH: Final = 96  # games that are rated at a time
BATCHES: Final = 10
_CHUNK: Final = 10_000


def measure_ledger(sizes: Sequence[int], say: Callable[[str], None]) -> list[Series]:
    """Seconds of each part by rows of 50 players, and what a writer of them keeps in memory."""
    measured = Measured("ledger")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE_NAME
        for size in sizes:
            say(f"{size:,} rows")
            _fill(path, size)
            _measure_writer(measured, path, size)
            _measure_reader(measured, path, size)
    return measured.all


def _measure_reader(measured: Measured, path: Path, size: int) -> None:
    read: list[Games] = []
    measured.add("reading", size, seconds(lambda: read.append(read_games(path)), calls=3))
    measured.add("ratings and intervals", size, seconds(lambda: rate(read[0]), calls=5))
    measured.add("leaderboard, all of it", size, seconds(lambda: build(read[0]), calls=5))


def _measure_writer(measured: Measured, path: Path, size: int) -> None:
    give_back_memory()
    before, opened = resident_bytes(), list[Ledger]()
    measured.add("opening", size, seconds(lambda: opened.append(Ledger.open(path)), calls=1))
    with opened[0] as ledger:
        give_back_memory()
        measured.add("memory of a writer", size, max(resident_bytes() - before, 1), unit="bytes")
        measured.add("columns for a rating", size, seconds(ledger.games))
        players = ladder(PLAYERS)
        batches = [
            list(invented(players, BATCH, np.random.default_rng(i), start=2**40 + size * 1000 + i * BATCH))
            for i in range(BATCHES)
        ]
        appending = seconds(lambda: ledger.append(batches.pop()), calls=BATCHES)
        measured.add(f"appending {BATCH} games", size, appending, "log n")


def _fill(path: Path, size: int) -> None:
    """Make the file so many rows long."""
    with Ledger.open(path) as ledger:
        there = ledger.rows
        new = invented(ladder(PLAYERS), size - there, np.random.default_rng(size), start=there)
        while chunk := list(islice(new, _CHUNK)):
            ledger.append(chunk)
