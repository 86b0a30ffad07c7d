"""Nim with a setting, a column and a verb of its own. See docs/trainer/environments.md."""

import sys
from dataclasses import dataclass
from functools import partial

from pydantic import Field

from selfplay.config.base import Positive
from selfplay.config.game_settings import GameSettings
from selfplay.config.options import flags
from selfplay.config.ppo import GameConfig
from selfplay.games import ActionSpec, Game, SyncVectorGame
from selfplay.games.columns import Column, Columns
from selfplay.games.kind import GameKind
from selfplay.games.rated import NoBody, NoConditions, RatedGame, ScriptedPlayer
from selfplay.verbs import Verb


def perfect(game, seat, rng):  # leaves a multiple of four
    return max(game.left % 4, 1) - 1


class Nim(Game):
    """Take one to three stones in turn. The player who takes the last one wins."""

    num_actions, obs_width, players = 3, 1, {"perfect": perfect}

    def __init__(self, stones=21):
        self.stones = stones

    def reset(self, seed):
        self.left, self.seat = self.stones, seed % 2

    def to_act(self):
        return (self.seat,)

    def observe(self, seat):
        return [self.left / 10]

    def legal(self, seat):
        return [taken <= self.left for taken in (1, 2, 3)]

    def step(self, actions):
        self.left -= actions[self.seat] + 1
        won = (1.0, -1.0) if self.seat == 0 else (-1.0, 1.0)
        self.seat = 1 - self.seat
        return ((0.0, 0.0) if self.left else won), self.left == 0, False


class NimConfig(GameConfig):
    stones: Positive = Field(21, description="Stones at the start")  # the setting game.stones


@dataclass(frozen=True)
class NimConditions(NoConditions):
    stones: int

    def described(self):  # only matches with equal ones are rated together
        return {"stones": self.stones}

    def options(self, matches):  # of ``make``
        return {"stones": self.stones}


@dataclass(frozen=True)
class NimBody(NoBody):
    stones: int  # game.stones of the run, kept in policy files

    @property
    def conditions(self):
        return NimConditions(self.stones)


def nim_settings():
    return GameSettings(
        groups={"game": NimConfig},
        flags={"Nim": flags("game", stones="N")},
        options=lambda config, num_games: {"num_games": num_games, "stones": config.game.stones},
    )


def make(num_games, stones=21):
    return SyncVectorGame(partial(Nim, stones), num_games)


NIM = GameKind(
    make=make,
    obs_width=1,
    actions=ActionSpec(binary=0, sizes=(3,), rest=(-1,)),
    encoder_version=1,
    ladder=("random", "perfect"),
    rated=RatedGame({name: ScriptedPlayer("1") for name in ("random", "perfect")}, {"game": "nim"}),
    body=NimBody,
    settings=nim_settings,
    columns=Columns(means=(Column("frames", "moves", "{:.1f}", chart="Moves a game"),)),
)
VERBS = {"nim-move": Verb(__name__, "say how many of N stones to take")}


def main():  # selfplay nim-move N
    print(f"take {max(int(sys.argv[1]) % 4, 1)}")
    return 0
