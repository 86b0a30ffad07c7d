"""Rating games of a run of words outside training, and the round robin that pins its scripted players."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.checkpoint import list_generations
from selfplay.errors import ConfigError
from selfplay.league.anchors import AnchorTable
from selfplay.league.games import Games
from selfplay.league.ledger import Ledger
from selfplay.league.ratings import rate
from selfplay.league.schedule import Fixture
from selfplay.seeding import derive
from selfplay.trainer.dialogue.rating import Contenders, play_words, rating_of, words_config
from selfplay.trainer.machine import pick_device
from selfplay.trainer.rating import plan_games

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir

BATCH: Final = 256  # comparisons at once
GAMES: Final = 1000  # comparisons of a pair in a calibration


def rate_words(run: RunDir, budget: int, seed: int, tell: Callable[[str], object]) -> int:
    """Spend ``budget`` comparisons where they tell most and add them to the run's ledger; how many. Blocks."""
    config = words_config(run)
    rating = rating_of(config)
    contenders = Contenders(config, run, pick_device(config.run.device))
    generations = list_generations(run)
    players = [*(generation.id for generation in generations), *rating.anchors]
    iteration = max((generation.iteration for generation in generations), default=0)
    played = 0
    with Ledger.open(run.ledger) as ledger:
        tell(f"{budget:,} comparisons, up to {BATCH} at once")
        while budget - played >= rating.games_each:
            rng = np.random.default_rng(derive(seed, "rate", ledger.rows))
            fixtures = plan_games(ledger.games(), rating, players, min(BATCH, budget - played), rng, run.path)
            found = ledger.append(play_words(fixtures, contenders, rating, iteration))
            if not found:
                break
            played += found
            tell(f"{played:,} of {budget:,} comparisons")
    return played


def calibrate_words(run: RunDir, games: int, seed: int, tell: Callable[[str], object]) -> AnchorTable:
    """Let every two scripted players of a run's game be compared ``games`` times and rate them. Blocks.

    Raises:
        ConfigError: fewer than one fixture has.
    """
    config = words_config(run)
    rating = rating_of(config)
    if games < rating.games_each:
        raise ConfigError(f"--games {games}: a pair needs at least {rating.games_each}, from both seats")
    contenders = Contenders(config, run, "cpu")
    rounds = games // rating.games_each
    pairs = list(itertools.combinations(rating.anchors, 2))
    fixtures = [Fixture(a, b, derive(seed, "calibrate", a, b, i)) for i in range(rounds) for a, b in pairs]
    records = []
    for start in range(0, len(fixtures), BATCH):
        records += play_words(fixtures[start : start + BATCH], contenders, rating, 0)
        tell(f"{len(records):,} of {len(fixtures) * rating.games_each:,} comparisons")
    ratings = rate(Games.of(records), players=rating.anchors)
    return AnchorTable(
        settings=rating.settings,
        described=rating.described,
        elo={name: round(float(ratings.elo[ratings.index(name)]), 1) for name in rating.anchors},
        se={name: round(float(ratings.se[ratings.index(name)]), 1) for name in rating.anchors},
        games=rounds * rating.games_each,
        seed=seed,
    )
