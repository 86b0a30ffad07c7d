"""A model of Stable-Baselines3 learns and gets a rating as docs/melee/gym.md says."""

import importlib.util
import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from selfplay_melee.gym import ENV_ID
from tests.run.policies import save
from tests.scripts.commands import run

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python needs=stable_baselines3\n(.*?)^```", re.DOTALL | re.MULTILINE)

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(importlib.util.find_spec("stable_baselines3") is None, reason="needs stable-baselines3"),
    pytest.mark.filterwarnings("default"),  # of other people's code
]


def test_a_model_of_the_page_is_rated(tmp_path, monkeypatch):
    save(tmp_path / "checkpoints/self_play", 0, config={"ppo": {}})
    monkeypatch.chdir(tmp_path)
    learn, play = BLOCK.findall((ROOT / "docs/melee/gym.md").read_text(encoding="utf-8"))
    assert len(learn.strip().splitlines()) <= 10
    names = {"gymnasium": gymnasium}
    for code in (learn, play):
        exec(code, names)
    table = run("leaderboard", "--games", "games.csv", "--json", cwd=tmp_path)
    assert table.returncode == 0, table.stderr
    assert all(f'"{player}"' in table.stdout for player in ("sb3", "random", "walker", "self_play"))
    assert len((tmp_path / "games.csv").read_text().splitlines()) == 1 + 3 * 32


def test_stable_baselines3_s_checker_is_content():
    from stable_baselines3.common.env_checker import check_env

    env = gymnasium.make(ENV_ID, opponent="idle", render_mode="rgb_array")
    check_env(env.unwrapped)
    assert env.reset(seed=1)[0].dtype == np.float32
