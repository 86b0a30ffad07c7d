"""Ratings of any games of two players, pairings, sequential tests, and choice of opponents. No torch.

A player's id is a string: ``gen_12`` (a frozen generation) or the name of a scripted player. The moving player
``current`` is an opponent in training and has no rating.

See docs/trainer/league.md.
"""

from selfplay.league.diagnosis import Diagnosis as Diagnosis
from selfplay.league.diagnosis import diagnose as diagnose
from selfplay.league.external_games import Result as Result
from selfplay.league.external_games import read_csv as read_csv
from selfplay.league.external_games import table_of as table_of
from selfplay.league.games import GameTable as GameTable
from selfplay.league.leaderboard import Leaderboard as Leaderboard
from selfplay.league.leaderboard import build as build
from selfplay.league.ledger import Ledger as Ledger
from selfplay.league.ledger import read_games as read_games
from selfplay.league.matchmaker import Candidate as Candidate
from selfplay.league.matchmaker import Matchmaker as Matchmaker
from selfplay.league.nash import nash_weights as nash_weights
from selfplay.league.ratings import Difference as Difference
from selfplay.league.ratings import Ratings as Ratings
from selfplay.league.ratings import expected_score as expected_score
from selfplay.league.ratings import rate as rate
from selfplay.league.records import GameRecord as GameRecord
from selfplay.league.render import to_text as to_text
from selfplay.league.schedule import Matchup as Matchup
from selfplay.league.schedule import plan as plan
from selfplay.league.sprt import SprtBounds as SprtBounds
from selfplay.league.sprt import SprtResult as SprtResult
from selfplay.league.sprt import sprt as sprt
from selfplay.league.statistics import ScoreInterval as ScoreInterval
from selfplay.league.statistics import score_interval as score_interval
