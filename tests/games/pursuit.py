"""A parallel environment of PettingZoo whose agents see and do different things: one hides, the other looks for it."""

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv


class Pursuit(ParallelEnv):
    def __init__(self, render_mode=None):
        self.metadata = {"name": "pursuit_v2", "render_modes": ["ansi"]}
        self.render_mode = render_mode
        self.possible_agents = ["hider", "seeker"]
        self.agents = []

    def observation_space(self, agent):
        return spaces.Discrete(5) if agent == "hider" else spaces.Box(0, 1, (2,))

    def action_space(self, agent):
        return spaces.Discrete(5) if agent == "hider" else spaces.MultiDiscrete([5, 2])

    def reset(self, seed=None, options=None):
        self.rng = np.random.default_rng(seed)
        self.agents = [*self.possible_agents]
        self.steps, self.place = 0, int(self.rng.integers(5))
        return self._seen(), {agent: {} for agent in self.agents}

    def _seen(self):
        hint = np.array([self.place / 4, self.rng.random()], np.float32)
        return {"hider": self.place, "seeker": hint}

    def step(self, actions):
        self.steps += 1
        self.place = int(actions["hider"])
        looked, careful = actions["seeker"]
        found = 1.0 if looked == self.place else -0.25 * (1 + careful)
        over = self.steps == 5
        everybody = [*self.agents]
        if over:
            self.agents = []
        return (
            self._seen(),
            {"hider": -found, "seeker": found},
            dict.fromkeys(everybody, over),
            dict.fromkeys(everybody, False),
            {agent: {} for agent in everybody},
        )

    def render(self):
        return "".join("H" if i == self.place else "." for i in range(5))

    def close(self):
        pass
