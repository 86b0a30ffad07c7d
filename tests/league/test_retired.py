"""A ladder has an end: who has not played for long leaves it."""

from dataclasses import replace

import numpy as np
import pytest

from selfplay.league import pruning as module
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import build
from selfplay.league.pruning import inactive
from selfplay.league.ratings import rate
from selfplay.league.render import to_text
from tests.league.pools import record

PLAYERS = ["gen_0", "random", "gen_1", "gen_2", "gen_3", "gen_4", "gen_5"]


@pytest.fixture(autouse=True)
def three_rungs(monkeypatch):
    monkeypatch.setattr(module, "LADDER", 3)


def games(*pairs):
    return GameTable.of(record(a, b, seed=i) for i, (a, b) in enumerate(pairs))


CLIMB = [("gen_0", "random"), *((f"gen_{i}", "random") for i in range(1, 6)), ("gen_1", "gen_5")]


def test_those_who_played_last_stay_with_the_start_and_whom_one_asks_for():
    seats = np.array([(PLAYERS.index(a), PLAYERS.index(b)) for a, b in CLIMB])
    gone = dict(zip(PLAYERS, inactive(PLAYERS, seats, ["gen_2"]).tolist(), strict=True))
    assert [name for name in PLAYERS if gone[name]] == ["gen_3"]
    assert not inactive(PLAYERS, seats[:3], []).any(), "three generations have played, which is no more than may stay"


def test_their_games_are_left_out_with_a_count():
    chosen = games(*CLIMB).comparable()
    assert len(chosen.games) == len(CLIMB) - 2
    assert chosen.left_out == {"of generations that have not played for long": 2}
    board = build(games(*CLIMB))
    assert {row.policy for row in board.rows} == {"random", "gen_0", "gen_1", "gen_4", "gen_5"}
    assert "Left out: 2 games of generations that have not played for long." in to_text(board)


def test_who_is_asked_for_is_rated():
    assert "gen_3" not in rate(games(*CLIMB)).players
    ratings = rate(games(*CLIMB), players=["gen_3"])
    assert ratings.games[ratings.index("gen_3")] == 1


def test_games_of_other_programs_know_no_generations():
    strangers = replace(games(*CLIMB), external=True)
    assert len(strangers.comparable().games) == len(CLIMB)
