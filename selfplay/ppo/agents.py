"""The learners of a run: the main agent and, in a league, two exploiters.

An exploiter looks for weaknesses. Once it wins, or has trained for long enough, it is frozen and joins the opponent
pool; then it may be reset (AlphaStar, Vinyals et al. 2019, Methods, "Multi-agent learning"). A reset exploiter starts
from the pretrained policy as in AlphaStar, or without one from the current main agent: a fresh network would spend
this project's budgets on basic movement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from selfplay.league.matchmaker import Matchmaker
from selfplay.league.modes import EXPLOITERS, MAIN, OUTSIDER
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic
    from selfplay.ppo.archive import Archive
    from selfplay.ppo.learner import Learner
    from selfplay.ppo.session import Session

ROLES: Final = (MAIN, *EXPLOITERS)
WINS: Final = 0.7  # score against each of its targets at which an exploiter is frozen
RESETS: Final = {"main_exploiter": 1.0, "league_exploiter": 0.25}
"""Probability that an exploiter is reset after it was frozen."""


@dataclass(slots=True)
class Agent:
    """A learner, its matchmaker, and the frozen opponents of its games in progress."""

    role: str
    learner: Learner
    matchmaker: Matchmaker
    since: int = 0  # iteration at which it was last frozen
    began: int = 0  # iteration at which it was last reset
    frozen: dict[str, ActorCritic] = field(default_factory=dict)

    def state(self) -> dict[str, Any]:
        """For the checkpoint, without the weights."""
        return {"matchmaker": self.matchmaker.state(), "since": self.since, "began": self.began}

    def restore(self, state: dict[str, Any]) -> None:
        self.matchmaker.restore(state["matchmaker"])
        self.since = int(state.get("since", 0))
        self.began = int(state.get("began", 0))


def make_matchmaker(session: Session, role: str, has_external_opponents: bool) -> Matchmaker:
    """The matchmaker of an agent; ``has_external_opponents``: whether there are policies of other runs."""
    league, seed = session.config.league, session.config.run.seed
    if role != MAIN:
        return Matchmaker(role, np.random.default_rng(derive(seed, "matchmaker", role)), (), None, league.max_frozen)
    if outsider := session.outsider:
        rng = np.random.default_rng(derive(seed, "matchmaker"))
        return Matchmaker(league.mode, rng, (), {OUTSIDER: 1.0}, league.max_frozen, (outsider,))
    rng, shares = np.random.default_rng(derive(seed, "matchmaker")), league.shares(external=has_external_opponents)
    return Matchmaker(league.mode, rng, session.training_bots, shares, league.max_frozen)


class Target(NamedTuple):
    """The opponent that an exploiter has the lowest score against."""

    name: str
    score: float  # shrunk towards one half if there are few games
    games: float

    def __str__(self) -> str:
        who = "the main agent" if self.name == MAIN else self.name
        return f"scores {self.score:.0%} against {who}" if self.games else f"has not played against {who} yet"


def worst(agent: Agent, archive: Archive) -> Target:
    """The target of an exploiter: the main agent, or its hardest opponent in the league."""
    names = [MAIN] if agent.role == "main_exploiter" else [*archive.generations, *archive.exploiters]
    results = agent.matchmaker.results
    return min((Target(name, results.score(name), results.games(name)) for name in names), key=lambda t: t.score)


def starts_over(agent: Agent, iteration: int, seed: int) -> bool:
    """Draw at random whether an exploiter that was just frozen is reset."""
    return bool(np.random.default_rng(derive(seed, agent.role, iteration)).random() < RESETS[agent.role])
