"""The games run, and are the same, with the NumPy and Gymnasium that other trainers pin."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.processes import finish

ROOT = Path(__file__).parents[2]
OLD = Path(sys.prefix) / "old"

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(not OLD.is_dir(), reason="no older NumPy and Gymnasium beside ours (make test-extras)"),
    pytest.mark.timeout(600),  # the rules are compiled for them
]

PROGRAM = """
import hashlib, json
import gymnasium, numpy as np
from selfplay_melee.gym import MockMeleeVectorEnv

block = MockMeleeVectorEnv(3, "walker", max_episode_frames=200)
obs, _ = block.reset(seed=4)
rng, digest, ended = np.random.RandomState(0), hashlib.sha256(obs.tobytes()), 0
sizes = [2] * 8 + [17] * 4 + [5, 2]
for _ in range(300):
    actions = (rng.random_sample((3, 14)) * sizes).astype(np.int64)
    obs, reward, terminated, truncated, infos = block.step(actions)
    for array in (obs, reward, terminated, truncated):
        digest.update(array.tobytes())
    ended += int((terminated | truncated).sum())
single = gymnasium.make("selfplay_melee.gym:selfplay/MockMelee-v1", opponent="walker")
single.reset(seed=1)
single.step(single.action_space.sample())
print(json.dumps([np.__version__, gymnasium.__version__, ended, digest.hexdigest()]))
"""


def play(*folders):
    path = os.pathsep.join(map(str, (*folders, ROOT)))
    done = finish([sys.executable, "-c", PROGRAM], cwd=ROOT, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_games_are_the_same():
    *versions, ended, digest = play(OLD)
    *now, ended_now, digest_now = play()
    assert versions == ["1.26.4", "0.29.1"]
    assert now != versions
    assert (ended, digest) == (ended_now, digest_now)
    assert ended >= 3
