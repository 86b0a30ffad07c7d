"""Growth with the players on the ladder: ratings while training, and the parts of ``leaderboard.py``."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from scripts.studies.growth.invented import games as invented
from scripts.studies.growth.invented import ladder
from scripts.studies.growth.series import Measured, Series, seconds
from selfplay.league.diagnosis import diagnose
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import analyse
from selfplay.league.nash import nash_weights
from selfplay.league.ratings import rate
from selfplay.league.render import to_text
from selfplay.league.schedule import plan
from selfplay.report.leaderboard_page.page import PageContent, page
from selfplay.report.rating_events import write_ratings

if TYPE_CHECKING:
    from selfplay.league.leaderboard import LeaderboardAnalysis
    from selfplay.league.ratings import Ratings

SIZES: Final = (2, 6, 12, 25, 50, 100, 200)
GAMES_EACH: Final = 40
PLANNED: Final = 96  # games of a rating batch


def measure_players(sizes: Sequence[int], tell: Callable[[str], None]) -> list[Series]:
    """Seconds of each part, by number of players with 40 games each."""
    measured = Measured("players")
    for size in sizes:
        tell(f"{size} players")
        players = ladder(size)
        rows = GameTable.of(invented(players, GAMES_EACH * size, np.random.default_rng(size)))
        ratings = rate(rows, players=players)
        for name, call in rating_parts(rows, ratings, players).items():
            measured.add(name, size, seconds(call))
        with tempfile.TemporaryDirectory() as folder:
            for name, call in shown_parts(analyse(rows), Path(folder) / "ratings").items():
                measured.add(name, size, seconds(call))
    return measured.all


def rating_parts(rows: GameTable, ratings: Ratings, players: Sequence[str]) -> dict[str, Callable[[], object]]:
    """Computations from games, by name."""
    chosen = rows.comparable().games
    return {
        "ratings and intervals": lambda: rate(rows, players=players),
        "misfit, cycles, seat": lambda: diagnose(ratings, chosen),
        "Nash mixture": lambda: nash_weights(ratings),
        "leaderboard, all of it": lambda: analyse(rows),
        f"plan of {PLANNED} games": lambda: plan(ratings, players, PLANNED, np.random.default_rng(0)),
    }


def shown_parts(found: LeaderboardAnalysis, events: Path) -> dict[str, Callable[[], object]]:
    """Outputs of a leaderboard, by name."""
    return {
        "leaderboard as text": lambda: to_text(found.board, show_all=True),
        "leaderboard as a page": lambda: page(PageContent("growth", found)),
        "TensorBoard's ratings": lambda: write_ratings(events, found.board, 1000),
    }
