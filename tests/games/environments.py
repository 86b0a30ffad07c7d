"""Opponents and random play that the tests of the Gymnasium and PettingZoo environments share."""

import numpy as np
from gymnasium.utils.seeding import np_random

from selfplay_melee.controller import CENTRE, FIELDS, MAIN_X, NEUTRAL
from selfplay_melee.gym import MockMeleeEnv, draw_seed
from selfplay_melee.opponents import Player


def looking(obs):
    """A callable that acts on what it sees: towards the opponent while it is far, else away, with a button."""
    action = NEUTRAL.copy()
    action[MAIN_X] = 2 * CENTRE if obs[0] < -0.1 else 0
    action[FIELDS.index("A")] = obs[0] > -0.2
    return action


def first_seeds(seed):
    """Of the game that a reset with this seed starts."""
    return np.array([draw_seed(np_random(seed)[0])], np.uint64)


def batched(act=looking, frame_skip=1, delay=0):
    return Player(lambda obs, _: np.stack([act(row) for row in obs]), frame_skip, delay)


def play(env, steps, seed=0):
    """Copies of everything that random play gives; episodes follow each other."""
    env.action_space.seed(seed)
    trace = [env.reset(seed=seed)]
    for _ in range(steps):
        trace.append(env.step(env.action_space.sample()))
        if isinstance(env.unwrapped, MockMeleeEnv) and (trace[-1][2] or trace[-1][3]):
            trace.append(env.reset())
    return trace
