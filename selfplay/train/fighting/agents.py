"""The learners of a run. There is one, the main agent; in a league two exploiters learn beside it.

An exploiter looks for weaknesses. Once it wins, or has tried for long enough, it is frozen and joins the pool, so that
the main agent meets it for ever; then it begins anew (AlphaStar, Vinyals et al. 2019, Methods, "Multi-agent learning").
It begins from the pretrained policy where there is one, as AlphaStar's do, else from what the main agent is by then: on
the budgets of this project a fresh network would spend them on learning to walk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from selfplay.league.matchmaker import Matchmaker
from selfplay.league.modes import EXPLOITERS, MAIN, MODES, OUTSIDER, with_guests
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic
    from selfplay.train.fighting.archive import Archive
    from selfplay.train.fighting.learner import Learner
    from selfplay.train.fighting.session import Session

ROLES: Final = (MAIN, *EXPLOITERS)
WINS: Final = 0.7  # score against all its targets at which an exploiter has done its work
RESETS: Final = {"main_exploiter": 1.0, "league_exploiter": 0.25}
"""How likely an exploiter begins anew when it has been frozen."""


@dataclass(slots=True)
class Agent:
    """A learner, whom it meets, and the frozen opponents that its games in progress need."""

    role: str
    learner: Learner
    matchmaker: Matchmaker
    since: int = 0  # iteration at which it was frozen last
    began: int = 0  # iteration at which it had its first weights
    frozen: dict[str, ActorCritic] = field(default_factory=dict)

    def state(self) -> dict[str, Any]:
        """For the checkpoint; the weights lie beside it."""
        return {"matchmaker": self.matchmaker.state(), "since": self.since, "began": self.began}

    def restore(self, state: dict[str, Any]) -> None:
        self.matchmaker.restore(state["matchmaker"])
        self.since = int(state.get("since", 0))
        self.began = int(state.get("began", 0))


def make_matchmaker(session: Session, role: str, guests: bool) -> Matchmaker:
    league, seed = session.config.league, session.config.run.seed
    if role != MAIN:
        return Matchmaker(role, np.random.default_rng(derive(seed, "matchmaker", role)), (), None, league.max_frozen)
    if outsider := session.config.emulator.outsider:
        rng = np.random.default_rng(derive(seed, "matchmaker"))
        return Matchmaker(league.mode, rng, (), {OUTSIDER: 1.0}, league.max_frozen, (outsider,))
    shares = MODES[league.mode]
    if league.mode == "simple_mix":
        shares = {name: float(getattr(league, name)) for name in shares}
    shares = with_guests(shares, league.opponent_share if guests else 0.0)
    rng = np.random.default_rng(derive(seed, "matchmaker"))
    return Matchmaker(league.mode, rng, session.training_bots, shares, league.max_frozen)


class Target(NamedTuple):
    """Whom an exploiter finds hardest of those that it is after."""

    name: str
    score: float  # pulled towards one half where few games are known
    games: float

    def __str__(self) -> str:
        who = "the main agent" if self.name == MAIN else self.name
        return f"scores {self.score:.0%} against {who}" if self.games else f"has not played against {who} yet"


def worst(agent: Agent, archive: Archive) -> Target:
    """The target of an exploiter: the main agent, or the one of the league that it finds hardest."""
    names = [MAIN] if agent.role == "main_exploiter" else [*archive.generations, *archive.exploiters]
    results = agent.matchmaker.results
    return min((Target(name, results.score(name), results.games(name)) for name in names), key=lambda t: t.score)


def begins_anew(agent: Agent, iteration: int, seed: int) -> bool:
    """Whether an exploiter that has just been frozen starts from the beginning; drawn by role."""
    return bool(np.random.default_rng(derive(seed, agent.role, iteration)).random() < RESETS[agent.role])
