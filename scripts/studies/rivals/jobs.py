"""The configuration of ``scripts/studies/bench`` as a job of other trainers."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from scripts.studies.bench.speed import fixed_config
from scripts.studies.rivals.programs.job import Job
from selfplay.checkpoint import RunDir
from selfplay.league.records import generation_id
from selfplay.ppo.learner import Learner
from selfplay.ppo.session import Session

SECONDS_WORTH: Final = 1024  # games x iterations of a sample
MOST_ITERATIONS: Final = 40


def iterations_of(games: int) -> int:
    """Counted iterations of a sample, which take a few seconds; one more precedes them."""
    return max(4, min(MOST_ITERATIONS, SECONDS_WORTH // games))


def session_of(games: int) -> Session:
    """The run of all systems."""
    return Session(fixed_config("unused", iterations=1, games=games, frame_skip=1), RunDir(Path("unused")), "cpu")


def write_first_weights(session: Session, path: Path) -> None:
    """Write the first weights of our learner for a program."""
    learner = Learner(session, threads=1)
    _, params = learner.policy(generation_id(0), 0, 0, None)
    learner.close()
    np.savez(path, **params)  # type: ignore[arg-type]


def job_of(session: Session, weights: Path, *, seats: int, threads: int, iterations: int, variant: str) -> Job:
    """The job of the same training."""
    config, ppo = session.config, session.config.ppo
    games = config.run.num_games
    options = session.game_options(games)
    del options["num_games"]
    return Job(
        games=games,
        seats=seats,
        threads=threads,
        iterations=iterations,
        rollout=ppo.rollout_length,
        epochs=ppo.epochs,
        minibatch=min(ppo.batch_size, games * seats * ppo.rollout_length),
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip=ppo.clip,
        learning_rate=ppo.learning_rate,
        value_clip=ppo.value_clip,
        value_coefficient=ppo.value_coefficient,
        entropy_coefficient=ppo.entropy_coefficient,
        max_grad_norm=ppo.max_grad_norm,
        hidden=config.net.hidden,
        weights=str(weights),
        game=options,
        seed=config.run.seed,
        variant=variant,
    )
