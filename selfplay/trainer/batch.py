"""From what the runners collected to what the learner learns from, and to what people read about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from selfplay.learner.gae import gae
from selfplay.learner.ppo import Batch
from selfplay.report.metrics import Play

if TYPE_CHECKING:
    from selfplay.rollout.rollout import Rollout
    from selfplay.runner.block import Collected, Episode


TERM: Final = "reward_"
"""How the counts of an episode begin that are a term of its reward."""
COUNTS: Final = ("stocks", "stocks_taken", "damage", "damage_taken", "self_destructs")
"""Counts that only fights have."""


def make_batch(rollouts: Sequence[Rollout], gamma: float, lam: float, device: torch.device) -> Batch:
    """All rows of the learner; advantages are estimated stream by stream before anything is mixed."""
    obs, action, logprob, value, advantage, legal = [], [], [], [], [], []
    for rollout in rollouts:
        mine = rollout.learner
        estimate = gae(rollout.reward, rollout.value, rollout.next_value, rollout.boundary, gamma, lam)
        obs.append(rollout.obs[mine])
        action.append(rollout.action[mine])
        logprob.append(rollout.logprob[mine])
        value.append(rollout.value[mine])
        advantage.append(estimate[mine])
        if rollout.legal is not None:
            legal.append(rollout.legal[mine])

    def tensor(parts: list[np.ndarray]) -> torch.Tensor:
        return torch.from_numpy(parts[0] if len(parts) == 1 else np.concatenate(parts)).to(device)

    values, advantages = tensor(value), tensor(advantage)
    mask = tensor(legal) if legal else None
    return Batch(tensor(obs), tensor(action), tensor(logprob), values, advantages, advantages + values, mask)


def summarise(collected: Sequence[Collected]) -> Play:
    """What the episodes that ended were like, from the learner's seats."""
    episodes = [episode for part in collected for episode in part.episodes]
    if not episodes:
        return Play()
    against = scores_against(collected)
    draws = sum(episode.score == 0.5 for episode in episodes)
    names = episodes[0].stats
    means = {name: _mean(episodes, name) for name in COUNTS if name in names}
    terms = {name.removeprefix(TERM): _mean(episodes, name) for name in names if name.startswith(TERM)}
    return Play(
        episodes=len(episodes),
        return_mean=sum(terms.values()),
        episode_length=_mean(episodes, "frames"),
        decisive_share=1 - draws / len(episodes),
        draws=draws,
        **means,
        win_rate={name: fmean(scores) for name, scores in sorted(against.items())},
        reward_terms=terms,
    )


def scores_against(collected: Sequence[Collected]) -> dict[str, list[float]]:
    """Scores of the episodes that ended, by opponent; mirror games have none."""
    against: dict[str, list[float]] = {}
    for part in collected:
        for episode in part.episodes:
            if not episode.mirror:
                against.setdefault(episode.opponent, []).append(episode.score)
    return against


def mean_score(collected: Sequence[Collected]) -> float | None:
    """Mean score of the episodes that ended against somebody else; None where none did."""
    scores = [score for against in scores_against(collected).values() for score in against]
    return fmean(scores) if scores else None


def zero_sum_error(collected: Sequence[Collected]) -> float:
    """Largest sum of the two seats' rewards in a step, without its sign: 0 where one's gain is the other's loss."""
    return max(float(np.abs(part.rollout.reward[:, 0::2] + part.rollout.reward[:, 1::2]).max()) for part in collected)


def met(collected: Sequence[Collected]) -> dict[str, int]:
    """How many episodes began against whom."""
    total: Counter[str] = Counter()
    for part in collected:
        total.update(part.met)
    return dict(sorted(total.items()))


def _mean(episodes: Sequence[Episode], name: str) -> float:
    return fmean(episode.stats[name] for episode in episodes)
