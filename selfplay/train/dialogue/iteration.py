"""What people read about an iteration of a run of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import numpy as np

from envs.dialogue.contract import AGREED
from selfplay.report.dialogue import DialogueReport

if TYPE_CHECKING:
    from selfplay.learner.grpo import GRPOStatistics
    from selfplay.runner.dialogue import Played
    from selfplay.train.dialogue.session import DialogueSession
    from selfplay.train.progress import Progress

_COUNTS: Final = frozenset({"rows", "groups", "singletons", "zero_variance", "tokens"})  # told otherwise


def iteration_report(
    session: DialogueSession,
    progress: Progress,
    played: Sequence[Played],
    update: GRPOStatistics,
    phase_s: Mapping[str, float],
    elo: float | None,
) -> DialogueReport:
    """About the iteration that ``progress`` has just counted."""
    run = session.config.run
    rewards = np.array([game.verdict.rewards for game in played])
    seats = rewards.mean(0)
    return DialogueReport(
        iteration=progress.iteration,
        iterations=session.config.iterations,
        games=len(played),
        total_games=progress.games,
        turns=sum(len(game.turns) for game in played),
        total_steps=progress.total_steps,
        tokens=sum(instance.written for game in played for instance in game.instances),
        elapsed_s=progress.elapsed_s,
        phase_s=dict(phase_s),
        reward=float(rewards.mean()),
        seat_rewards=(float(seats[0]), float(seats[1])),
        agreement=float(np.mean([game.verdict.reason == AGREED for game in played])),
        refused=sum(turn.error is not None for game in played for turn in game.turns) / len(played),
        endings=Counter(game.verdict.reason for game in played),
        lost=progress.lost,
        rows=update.rows,
        zero_variance=update.zero_variance_share,
        update={name: value for name, value in asdict(update).items() if name not in _COUNTS},
        restarts=progress.restarts,
        tasks=progress.tasks,
        shared=session.entry.shared_reward,
        timesteps=run.timesteps,
        limit_s=run.max_minutes * 60 if run.max_minutes else None,
        elo=elo,
    )
