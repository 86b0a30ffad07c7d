"""Sets of values that `--preset NAME` gives; everything that the user sets otherwise wins over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Presets = Mapping[str, Mapping[str, Mapping[str, Any]]]  # values by name of the preset, group and setting

PPO: Final[Presets] = {
    # For games of turns. Without a large entropy bonus, also at the end, a policy that meets only itself plays one line
    # and no other: with an annealed one Connect Four became weaker against other players.
    "board": {
        "run": {"timesteps": 2_000_000, "num_games": 256, "save_interval": 20},
        "net": {"hidden": (256, 256), "activation": "relu"},
        "ppo": {
            "rollout_length": 32,
            "batch_size": 1024,
            "epochs": 2,
            "learning_rate": 2e-3,
            "entropy_coefficient": 0.1,
            "gamma": 1.0,
        },
        "league": {"mode": "simple_mix", "current": 0.6, "recent": 0.2, "scripted": 0.0, "any_past": 0.2},
    },
    # For zero-sum games of hidden information: regularized towards a slow average, which is also what is saved, and
    # kept from giving up actions. See docs/trainer/equilibrium.md. The value loss of payoffs of several chips would
    # outweigh the policy's.
    "equilibrium": {
        "run": {"timesteps": 14_000_000, "num_games": 256, "save_interval": 30},
        "net": {"hidden": (128, 128), "activation": "relu"},
        "ppo": {
            "rollout_length": 32,
            "batch_size": 1024,
            "epochs": 2,
            "learning_rate": 2e-3,
            "anneal": "rate",
            "entropy_coefficient": 0.05,
            "gamma": 1.0,
            "value_clip": 100.0,
            "value_coefficient": 0.01,
            "teacher_kl_reverse": 0.2,
            "uniform_kl": 0.015,
            "average": 0.99,
        },
        "league": {"mode": "latest"},
    },
}
