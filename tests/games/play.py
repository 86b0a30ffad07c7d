"""Games and inputs that the tests of this folder share."""

import numpy as np

from selfplay.games.check import random_actions
from selfplay_melee import actions
from selfplay_melee.controller import ACTION_SPEC, decode, mirror
from selfplay_melee.mock import MockMelee, neutral_actions
from selfplay_melee.observation import encode
from selfplay_melee.state import CONTROLLER, records
from selfplay_melee.tables import load_tables

FAR = 1000.0  # beyond every blast zone


def make(num_games=2, *, seed=0, **options):
    """A block that has been reset."""
    game = MockMelee(num_games, **options)
    game.reset(seeds(num_games, seed))
    return game


def seeds(num_games, seed=0):
    return np.arange(num_games, dtype=np.uint64) + np.uint64(seed)


def some_actions(steps, num_games=2, seed=0):
    """Random actions int8 [T, B, 2, 14]."""
    return random_actions(np.random.default_rng(seed), ACTION_SPEC, steps, num_games, 2)


def hands_off(game):
    return game.step(neutral_actions(game.num_games))


def throw_out(game, seat):
    """Put a player of every game where the next frame costs a stock."""
    players = game.state.players
    players["x"][:, seat] = FAR
    players["on_ground"][:, seat] = 0
    players["action"][:, seat] = actions.FALL


def same_state(game, other):
    """Whether two blocks are in the same state, bit for bit."""
    mine, theirs = game.state, other.state
    pairs = ((mine.game, theirs.game), (mine.players, theirs.players), (mine.controllers, theirs.controllers))
    return all(np.array_equal(a[name], b[name]) for a, b in pairs for name in a.dtype.names)


def in_world(game, actions):
    """The controllers that these actions mean now, [B, P]."""
    pads = records(CONTROLLER, game.num_games, 2)
    decode(mirror(actions, encode(game.state, load_tables())[1]), pads)
    return pads


def equal(pads, others):
    """Whether two arrays of controllers say the same."""
    return all(np.array_equal(pads[name], others[name]) for name in CONTROLLER.names)
