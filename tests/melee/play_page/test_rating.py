"""The rating of the person on the page, against the fit of Python; the cases are in ``rating_cases.js``."""

import json
from pathlib import Path

import numpy as np
import pytest

from selfplay.league.anchors import read_table, shipped_tables
from selfplay.league.games import GameTable
from selfplay.league.ratings import expected_score, rate
from selfplay.league.records import ANCHOR
from selfplay_melee.play_page.page import FIT
from tests.league.pools import record, seat
from tests.support.node import case_names, needs_node, run_cases

pytestmark = needs_node
HERE = Path(__file__).parent
VIEW = HERE.parents[2] / "envs" / "selfplay_melee" / "play_page" / "view"
CASES = HERE / "rating_cases.js"
NAMES = case_names(CASES)
STOCKS = {1.0: (2, 0), 0.5: (1, 1), 0.0: (0, 2)}
ANCHORS = next(table.rating for table in map(read_table, shipped_tables()) if "expert" in table.rating)


def fitted(games):
    """What Python says of a person with these games, each an opponent and a score."""
    person = "person-ann"
    records = [
        record(seat(person), opponent, STOCKS[score], seed=number) for number, (opponent, score) in enumerate(games)
    ]
    found = rate(GameTable.of(records), ANCHORS, anchors=ANCHORS, anchor=ANCHOR)
    i = found.index(person)
    low = float(found.low[i]) if found.floor[i] else None
    high = float(found.high[i]) if found.ceiling[i] else None
    shown = [{"opponent": opponent, "elo": ANCHORS[opponent], "score": score} for opponent, score in games]
    return {"games": shown, "elo": float(found.rating[i]), "se": float(found.se[i]), "low": low, "high": high}


def histories(rng):
    """Games of people of all strengths, and some that no strength explains: upsets, one opponent, one result."""
    names = list(ANCHORS)
    for _ in range(40):
        strength, few = rng.uniform(1000, 4000), rng.choice(names, rng.integers(1, len(names)), replace=False)
        chosen = [str(rng.choice(few)) for _ in range(rng.integers(1, 60))]
        yield [(name, float(rng.random() < expected_score(strength, ANCHORS[name]))) for name in chosen]
    for name in (ANCHOR, "expert"):
        for score in STOCKS:
            yield [(name, score)] * 5
    yield [(ANCHOR, 0.0)] * 2 + [("expert", 1.0)] * 9  # two maxima of the likelihood with upsets
    yield [(ANCHOR, 0.0)] * 9 + [("expert", 1.0)] * 2
    yield [("rusher", 0.5)] * 10 + [("strong", 1.0), ("weak", 0.0)]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rating")
    expected = [[a, b, expected_score(a, b)] for a, b in ((1500, 1500), (1500, 3000), (2100.5, 1903))]
    results = {"fit": FIT, "fits": [fitted(games) for games in histories(np.random.default_rng(0))]}
    (folder / "results.json").write_text(json.dumps(results | {"expected": expected}))
    modules = (VIEW / "rating.js", VIEW / "person_rating.js", CASES)
    return run_cases(folder, *modules, words=(folder / "results.json",))


def test_all_cases_are_known(told):
    assert list(told) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_rating(told, name):
    assert not told[name], told[name]
