"""Vector environments of Gymnasium whose sub-environments are the seats of games of two, for tests."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space

FREE = np.ones(3, np.int8)


class Climb(gymnasium.Env):
    """One seat: as many steps as ``limit``, each of 1 to 3 metres, which are the reward. It sees height and steps.

    ``mask`` forbids the last step, as "infos" or in the observation, "seen". At the height of a ``goal`` the seat ends.
    """

    def __init__(self, limit=3, truncates=False, mask=None, goal=99):
        self.limit, self.truncates, self.mask, self.goal = limit, truncates, mask, goal
        self.action_space = Discrete(3, start=1)
        self.observation_space = Box(0, 99, (2,), np.float32)
        if mask == "seen":
            self.observation_space = Dict(observation=self.observation_space, action_mask=MultiBinary(3))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.height, self.steps, self.free = 0, 0, FREE
        return self._shown()

    def step(self, action):
        assert action in self.action_space
        assert self.mask is None or self.free[action - 1], "illegal"
        self.height += int(action)
        self.steps += 1
        self.free = FREE.copy()
        self.free[action - 1] = 0
        obs, info = self._shown()
        ended = self.steps == self.limit or self.height >= self.goal
        return obs, float(action), ended and not self.truncates, ended and self.truncates, info

    def _shown(self):
        obs = np.array([self.height, self.steps], np.float32)
        if self.mask == "seen":
            return {"observation": obs, "action_mask": self.free}, {}
        return obs, {"action_mask": self.free} if self.mask else {}


def climbs(num_games, mode=AutoresetMode.SAME_STEP, **options):
    return SyncVectorEnv([lambda: Climb(**options)] * (2 * num_games), autoreset_mode=mode)


def next_step(num_games):
    return climbs(num_games, AutoresetMode.NEXT_STEP, mask="seen")


def odd(num_games):
    return SyncVectorEnv([Climb] * (2 * num_games + 1))


class Duels(VectorEnv):
    """Rock, paper, scissors of three rounds, and a loud or quiet shout: the whole batch by numpy, in one step."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012 Gymnasium declares it so

    def __init__(self, num_games, actions=None, observations=None):
        self.num_envs = 2 * num_games
        self.single_observation_space = observations or Dict(round=Discrete(4), met=Box(0, 1, (3,), np.float32))
        self.single_action_space = actions or MultiDiscrete([3, 2])
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.seeds, self.given = [], []

    def reset(self, *, seed=None, options=None):
        self.seeds.append(seed)
        self.round, self.met = 0, np.zeros((self.num_envs, 3), np.float32)
        return self._seen(), {}

    def step(self, actions):
        self.given.append(actions)
        moves = actions[:, 0].reshape(-1, 2)
        met = moves[:, ::-1]
        self.met = np.eye(3, dtype=np.float32)[met.reshape(-1)]
        self.round += 1
        reward = ((moves - met + 4) % 3 - 1.0).reshape(-1)
        ended, infos = np.full(self.num_envs, self.round == 3), {}
        if self.round == 3:
            infos = {"final_obs": self._seen()}
            self.reset()
        return self._seen(), reward, ended, np.zeros_like(ended), infos

    def _seen(self):
        return {"round": np.full(self.num_envs, self.round), "met": self.met}


def continuous(num_games):
    return Duels(num_games, actions=Box(-1, 1, (2,)))


def pictures(num_games):
    return Duels(num_games, observations=Box(0, 255, (8, 8, 3), np.uint8))


def unsaid(num_games):
    env = Duels(num_games)
    env.metadata = {}
    return env
