"""The part of a state that is no array, as the types from which a run goes on, see ``run.saved_state``."""

from __future__ import annotations

from pydantic import Field

from selfplay.checkpoint.documents import Count
from selfplay.league.matchmaker import MatchmakerState
from selfplay.league.modes import Kind
from selfplay.run.saved_state import Saved, SavedExtra


class _Agent(Saved):
    matchmaker: MatchmakerState
    since: Count = 0
    began: Count = 0


class _PPOExtra(SavedExtra):
    agents: dict[str, _Agent] = Field(default_factory=dict)
    exploiters: tuple[str, ...] = ()
    leaving: tuple[str, ...] = ()
    own_choice_of_opponents: bool = False


class _Block(Saved):
    opponents: tuple[tuple[Kind, str, str], ...] = ()


class PPOState(Saved):
    """The part of a state from which a run goes on."""

    matchmaker: MatchmakerState
    opponents: dict[str, _Block]
    extra: _PPOExtra
