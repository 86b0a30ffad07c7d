"""Turns collected segments into the learner's batch and into the report of an iteration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from selfplay.games.columns import NONE, Columns
from selfplay.league.payoffs import score_of_leads
from selfplay.learner.batch import Batch
from selfplay.learner.gae import gae
from selfplay.report.metrics import MIRROR, IterationReport, Pace, Play
from selfplay.rollout.buffers import Workspace
from selfplay.rollout.rollout import LEARNED
from selfplay.runner.worker import Worker

if TYPE_CHECKING:
    from selfplay.ppo.session import Session
    from selfplay.rollout.rollout import F32, Rollout
    from selfplay.run.progress import Progress
    from selfplay.run.rating_games import RatingGames
    from selfplay.runner.segment import Collected, Episode
    from selfplay.update_metrics import UpdateMetrics


TERM: Final = "reward_"  # prefix of the episode statistics that are terms of the reward


def make_batch(
    rollouts: Sequence[Rollout], gamma: float, lam: float, device: torch.device, workspace: Workspace | None = None
) -> Batch:
    """Concatenate rollouts to one batch, with advantages by GAE.

    The batch has all decisions of the learner or, for a recurrent network, all columns with such decisions. Arrays on
    the CPU are in the workspace; the next batch overwrites them.
    """
    parts = [
        (each, gae(each.reward, each.value, each.next_value, each.boundary, gamma, lam, each.decides, each.learner))
        for each in rollouts
    ]
    gather = _columns if rollouts[0].memory is not None else _decisions
    joined = gather(parts, Workspace() if workspace is None else workspace)
    tensors = {name: torch.from_numpy(array).to(device) for name, array in joined.items()}
    return Batch(**tensors, target=tensors["advantage"] + tensors["value"])


def _fields(rollout: Rollout, advantage: F32) -> dict[str, NDArray[Any]]:
    """The fields of a batch for one rollout, [T, S, ...]."""
    found = {name: getattr(rollout, name) for name in LEARNED}
    return {name: array for name, array in found.items() if array is not None} | {"advantage": advantage}


def _decisions(parts: Sequence[tuple[Rollout, F32]], workspace: Workspace) -> dict[str, NDArray[Any]]:
    """The learner's decisions, [N, ...]."""
    masks = [rollout.learner.reshape(-1) for rollout, _ in parts]
    counts = [int(mask.sum()) for mask in masks]
    fields = [_fields(*part) for part in parts]
    joined = {}
    for name, first in fields[0].items():
        joined[name] = out = workspace.array(name, (sum(counts), *first.shape[2:]), first.dtype)
        at = 0
        for each, mask, count in zip(fields, masks, counts, strict=True):
            rows = each[name].reshape(-1, *first.shape[2:])
            if count == len(rows):
                out[at : at + count] = rows
            else:
                np.compress(mask, rows, 0, out=out[at : at + count])
            at += count
    return joined


def _columns(parts: Sequence[tuple[Rollout, F32]], _: Workspace) -> dict[str, NDArray[Any]]:
    """Columns with decisions of the learner, [N, T, ...]."""
    found = []
    for rollout, advantage in parts:
        whose = rollout.learner.any(0)
        rows = _fields(rollout, advantage) | {"fresh": rollout.fresh, "mine": rollout.learner}
        columns = {name: np.ascontiguousarray(array[:, whose].swapaxes(0, 1)) for name, array in rows.items()}
        found.append(columns | {"memory": np.asarray(rollout.memory)[whose]})
    return {name: np.concatenate([columns[name] for columns in found]) for name in found[0]}


def summarise(collected: Sequence[Collected], columns: Columns = NONE, *, by_payoff: bool = False) -> Play:
    """Figures of the episodes that ended; ``by_payoff``: with the payoffs against each opponent."""
    episodes = [episode for part in collected for episode in part.episodes]
    if not episodes:
        return Play()
    against = scores_against(collected)
    paid = _against(collected, _payoff) if by_payoff else {}
    draws = sum(episode.score == 0.5 for episode in episodes)
    names = episodes[0].stats
    terms = {name.removeprefix(TERM): _mean(episodes, name) for name in names if name.startswith(TERM)}
    return Play(
        episodes=len(episodes),
        return_mean=sum(terms.values()),
        episode_length=_mean(episodes, "frames"),
        decisive_share=1 - draws / len(episodes),
        draws=draws,
        means={column.name: _mean(episodes, column.name) for column in columns.means if column.name in names},
        win_rate={name: fmean(scores) for name, scores in sorted(against.items())},
        payoff={name: fmean(payoffs) for name, payoffs in sorted(paid.items())},
        reward_terms=terms,
        pace=_paces(episodes, columns) if columns.rates else {},
    )


def _paces(episodes: Sequence[Episode], columns: Columns) -> dict[str, Pace]:
    """Pace of games by kind of opponent; mirror games are a kind of their own."""
    kinds: dict[str, list[Episode]] = {}
    for episode in episodes:
        kinds.setdefault(MIRROR if episode.mirror else episode.kind, []).append(episode)
    return {kind: _pace(kinds[kind], columns) for kind in sorted(kinds)}


def _pace(episodes: Sequence[Episode], columns: Columns) -> Pace:
    def total(name: str, counts: float | None = None) -> float:
        values = (episode.stats[name] for episode in episodes)
        return sum(values) if counts is None else sum(value == counts for value in values)

    games, minutes = len(episodes), total("frames") / columns.minute
    rates = {
        rate.name: sum(total(name, rate.counts) for name in rate.of)
        / rate.divisor
        / (games if rate.per == "games" else minutes)
        for rate in columns.rates
    }
    return Pace(games=games, minutes=minutes, rates=rates)


def scores_against(collected: Sequence[Collected]) -> dict[str, list[float]]:
    """Scores of the episodes that ended, by opponent; mirror games have none."""
    return _against(collected, attrgetter("score"))


def leads_against(collected: Sequence[Collected]) -> dict[str, list[float]]:
    """Leads of the learner in the episodes that ended, by opponent; mirror games have none."""
    return _against(collected, attrgetter("lead"))


def _against(collected: Sequence[Collected], figure: Callable[[Episode], float]) -> dict[str, list[float]]:
    against: dict[str, list[float]] = {}
    for part in collected:
        for episode in part.episodes:
            if not episode.mirror:
                against.setdefault(episode.opponent, []).append(figure(episode))
    return against


def _payoff(episode: Episode) -> float:
    return episode.stats["reward_payoff"]


def mean_score(collected: Sequence[Collected], *, by_payoff: bool = False) -> float | None:
    """Mean score of the episodes that ended, without mirror games; None if there are none.

    ``by_payoff``: the score that the leads stand for.
    """
    found = leads_against(collected) if by_payoff else scores_against(collected)
    results = [result for against in found.values() for result in against]
    if not results:
        return None
    return score_of_leads(sum(results), sum(r * r for r in results), len(results)) if by_payoff else fmean(results)


def common_gain(collected: Sequence[Collected]) -> float:
    """Largest sum of both seats' rewards in a step; above 0 two players can gain by cooperating."""
    return max(float((part.rollout.reward[:, 0::2] + part.rollout.reward[:, 1::2]).max()) for part in collected)


def met(collected: Sequence[Collected]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in collected:
        total.update(part.met)
    return dict(sorted(total.items()))


def _mean(episodes: Sequence[Episode], name: str) -> float:
    return fmean(episode.stats[name] for episode in episodes)


def iteration_report(
    session: Session,
    progress: Progress,
    collected: Sequence[Collected],
    update: UpdateMetrics,
    phases: Mapping[str, float],
    rating_games: RatingGames | None = None,
    others: Mapping[str, Sequence[Collected]] | None = None,
) -> IterationReport:
    """The report of the last iteration of ``progress``; ``others`` are the segments of exploiters by role."""
    everything = [*collected, *(part for parts in (others or {}).values() for part in parts)]
    config, objective = session.config, session.game.objective
    by_payoff = objective.by_payoff
    scores = {role: mean_score(parts, by_payoff=by_payoff) for role, parts in (others or {}).items()}
    cuda = session.device.startswith("cuda")
    return IterationReport(
        iteration=progress.iteration,
        iterations=config.iterations,
        steps=session.config.steps_per_iteration,
        total_steps=progress.total_steps,
        timesteps=config.run.timesteps,
        experiences=sum(part.rollout.experiences for part in everything),
        phase_s=dict(phases),
        elapsed_s=progress.elapsed_s,
        limit_s=config.run.max_minutes * 60 if config.run.max_minutes else None,
        update=update,
        play=summarise(collected, session.game.columns, by_payoff=by_payoff),
        common_gain=None if objective.kind == "shared" else common_gain(everything),  # there it is what is wanted
        opponents=met(collected),
        exploiters={role: score for role, score in scores.items() if score is not None},
        restarts=progress.restarts,
        late=progress.late if session.game.real_time else None,
        dropped=progress.dropped if session.game.real_time else None,
        abandoned=Worker.abandoned,
        tasks=progress.tasks,
        cuda_used=torch.cuda.memory_allocated(session.device) if cuda else None,
        cuda_peak=torch.cuda.max_memory_allocated(session.device) if cuda else None,
        rating=rating_games.rating if rating_games else None,
        gate=rating_games.gate_report() if rating_games else None,
    )
