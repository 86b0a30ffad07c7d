"""The part of a state that is no array, as the types from which a run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

from selfplay.checkpoint.documents import Count, Name, parse
from selfplay.checkpoint.learner_state import LEARNER_FILE
from selfplay.errors import IncompatibleError
from selfplay.league.anchors import own_table
from selfplay.league.gate import GateState
from selfplay.league.ledger import check_rows, read_games
from selfplay.league.matchmaker import MatchmakerState
from selfplay.league.modes import Kind

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState, RunDir


class _Saved(BaseModel, frozen=True, extra="ignore", allow_inf_nan=False):
    """The part of a state that is checked."""


class _Faults(_Saved):
    injected: Count
    detected: Count
    recovered: Count
    lost: Count


class _Extra(_Saved):
    """What every run of self-play saves."""

    restarts: Count = 0
    chaos: dict[str, _Faults] = {}
    rating_spent: float = 0.0
    gate: GateState | None = None


class _Agent(_Saved):
    matchmaker: MatchmakerState
    since: Count = 0
    began: Count = 0


class _PPOExtra(_Extra):
    agents: dict[str, _Agent] = {}
    exploiters: tuple[str, ...] = ()
    leaving: tuple[str, ...] = ()
    own_choice_of_opponents: bool = False


class _Block(_Saved):
    opponents: tuple[tuple[Kind, str, str], ...] = ()


class _Game(_Saved):
    """Names that every policy repeats; those of a fight are compared with its lists as well."""

    character: Name = ""
    opponent_character: Name | None = None
    stage: Name = ""


class _Config(_Saved):
    game: _Game = _Game()


class PPOState(_Saved):
    """Of fights and other games with rewards."""

    config: _Config
    matchmaker: MatchmakerState
    opponents: dict[str, _Block]
    extra: _PPOExtra


class _DialogueExtra(_Extra):
    games: Count
    lost: Count
    base: str
    baseline: dict[Count, float] = {}


class DialogueState(_Saved):
    """Of games in writing."""

    extra: _DialogueExtra


def check_state(state: LearnerState, kind: type[PPOState | DialogueState]) -> None:
    """Refuse a state from which a run could not go on; the IncompatibleError names a value of another type."""
    document = state.meta.model_dump(include=set(kind.model_fields))
    parse(kind, document, str(state.path / LEARNER_FILE), IncompatibleError)


def check_ratings(run: RunDir, written: int = 0) -> None:
    """Refuse games or ratings with which the run could not go on: a second for each 100,000 games.

    ``written`` is the number of rating games that it must have.
    """
    check_rows(run.ledger, len(read_games(run.ledger)) if run.ledger.exists() else 0, written)
    own_table(run.path)
