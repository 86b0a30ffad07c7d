"""Does training learn to play? On games with known answers that is a number: how much a best reply wins.

Each game is trained by the main job itself, from configuration to generations on disk; what is judged are the policies
that lie there. Three players are: the last policy; the average over the generations of the run's second half, which
draws one of them for each game; and the mixture of all generations that none of them beats, which is recommended where
styles beat each other in a ring.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from selfplay.checkpoint import RunDir, list_generations
from selfplay.commands.train_or_resume import followed
from selfplay.config.ppo import Config
from selfplay.config.program import Invocation
from selfplay.evaluation.exact import Asked, mixtures, strategy
from selfplay.games.solved.enumeration import find_tree
from selfplay.policy.policy import load_policy
from selfplay.ppo.train import train


@dataclass(frozen=True, slots=True)
class Case:
    """Training settings of a game, and the largest NashConv allowed for the recommended player."""

    band: float
    settings: Mapping[str, Mapping[str, Any]]  # of the configuration, by group

    @property
    def steps(self) -> int:
        """Training steps of a run."""
        return int(self.settings["run"]["timesteps"])


@dataclass(frozen=True, slots=True)
class SelfcheckResult:
    """NashConv of the players that one run gave."""

    game: str
    seed: int
    band: float
    last: float  # of the last policy
    average: float  # of the second half of the generations, all alike likely
    recommended: float  # of all generations, weighed by Nash averaging
    generations: int  # of the run

    @property
    def passed(self) -> bool:
        return self.recommended <= self.band


def _case(band: float, iterations: int, **ppo: Any) -> Case:  # noqa: ANN401
    games, length = 64, 8
    return Case(
        band,
        {
            "net": {"hidden": (64,)},
            "ppo": {
                "rollout_length": length, "batch_size": 2 * games * length, "epochs": 2, "gamma": 1.0,
                "gae_lambda": 1.0, "entropy_coefficient": 0.2, **ppo,
            },
            "league": {"mode": "latest", "population": iterations},  # all generations are kept
            "run": {
                "timesteps": iterations * games * length, "num_games": games, "save_interval": 4,
                "runners": 1, "threads": 1, "deterministic": True,
            },
        },
    )  # fmt: skip


CASES: Final[Mapping[str, Case]] = {
    "rps": _case(0.06, 200, learning_rate=3e-3, anneal="all"),
    "pennies": _case(0.06, 200, learning_rate=3e-3, anneal="all"),
    "kuhn": _case(0.05, 500, learning_rate=1e-3, entropy_coefficient=0.05),
    "mixup": _case(0.15, 400, learning_rate=1e-3),
}
"""Each game's settings, in the order in which they are checked."""


def check(
    game: str, case: Case, seed: int, progress: Callable[[int], object] = lambda done: None, before: int = 0
) -> SelfcheckResult:
    """Train one run in a folder that is gone afterwards, and judge it.

    ``progress`` is called with the training steps that are done, ``before`` included, from another thread.
    """
    with TemporaryDirectory(prefix=f"selfcheck-{game}-") as folder:
        run = RunDir(Path(folder) / "run")
        config = Config.model_validate(
            {
                **case.settings,
                "game": {"type": game},
                "run": {**case.settings["run"], "seed": seed, "checkpoint": str(run.path)},
            }
        )
        with followed(run, progress, before):
            code = train(Invocation(config, explicit={"run.checkpoint": str(run.path)}), io.StringIO())
        if code:
            raise KeyboardInterrupt
        policies = [load_policy(generation.path) for generation in list_generations(run)]
    return judge(game, case.band, seed, policies)


def judge(game: str, band: float, seed: int, policies: Sequence[Asked]) -> SelfcheckResult:
    """Compute the NashConv of the generations of a run, given from old to new."""
    tree = find_tree(game)
    found = mixtures(tree, np.stack([strategy(tree, policy) for policy in policies]))
    return SelfcheckResult(game, seed, band, found.last, found.average, found.recommended, len(policies))
