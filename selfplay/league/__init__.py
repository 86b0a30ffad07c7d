"""Ratings of any games of two players, pairings, sequential tests, and choice of opponents. No torch.

A player's id is a string: ``gen_12`` (a frozen generation) or the name of a scripted player. The moving player
``current`` is an opponent in training and has no rating.

See docs/trainer/league.md.
"""

from selfplay.league.diagnosis import Diagnosis, diagnose
from selfplay.league.external_games import Result, table_of
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import Leaderboard, build
from selfplay.league.ledger import Ledger, read_games
from selfplay.league.matchmaker import Candidate, Matchmaker
from selfplay.league.nash import nash_weights
from selfplay.league.ratings import Difference, Ratings, expected_score, rate
from selfplay.league.records import GameRecord
from selfplay.league.render import to_text
from selfplay.league.result_files import read_results
from selfplay.league.schedule import Matchup, plan
from selfplay.league.sprt import SprtBounds, SprtResult, sprt
from selfplay.league.statistics import ScoreInterval, score_interval

__all__ = [
    "Candidate",
    "Diagnosis",
    "Difference",
    "GameRecord",
    "GameTable",
    "Leaderboard",
    "Ledger",
    "Matchmaker",
    "Matchup",
    "Ratings",
    "Result",
    "ScoreInterval",
    "SprtBounds",
    "SprtResult",
    "build",
    "diagnose",
    "expected_score",
    "nash_weights",
    "plan",
    "rate",
    "read_games",
    "read_results",
    "score_interval",
    "sprt",
    "table_of",
    "to_text",
]
