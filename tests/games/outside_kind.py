"""A game from outside, with what its package brings to the trainer: a setting, a figure and a verb."""

import sys
from typing import Annotated

import numpy as np
from pydantic import Field

from selfplay.config.base import Group
from selfplay.config.game_settings import GameSettings
from selfplay.config.options import flags
from selfplay.games import Game, kind_of
from selfplay.games.columns import Column, Columns
from selfplay.verbs import Verb


class Race(Game):
    """Both run up to two fields in a step; the one ahead when a goal is reached has won."""

    num_actions, obs_width, figures = 3, 2, {"fields": lambda game, seat: game.at[seat]}

    def __init__(self, goal=4):
        self.goal = goal

    def reset(self, seed):
        self.at = np.zeros(2)

    def observe(self, seat):
        return self.at[[seat, 1 - seat]] / self.goal

    def step(self, actions):
        self.at += actions
        over = self.at.max() >= self.goal
        won = float(over * np.sign(self.at[0] - self.at[1]))
        return (won, -won), over, False


class RaceConfig(Group):
    goal: Annotated[int, Field(ge=1)] = Field(4, description="Fields to the goal")


KIND = kind_of(
    Race,
    settings=lambda: GameSettings(
        groups={"race": RaceConfig},
        flags={"Race": flags("race", goal="N")},
        options=lambda config: {"goal": config.race.goal},
    ),
    columns=Columns((Column("fields", "fields", chart="Fields that were run"),)),
)
VERB = Verb(__name__, "run alone")


def main():
    return int(sys.argv[1])
