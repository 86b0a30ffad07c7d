"""The part of a state that is no array, as the types from which a run goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from selfplay.checkpoint import load_latest_learner, resolve_run
from selfplay.checkpoint.documents import Count, parse
from selfplay.checkpoint.learner_state import LEARNER_FILE
from selfplay.errors import IncompatibleError
from selfplay.league.anchors import own_table
from selfplay.league.gate import GateState
from selfplay.league.ledger import check_rows, read_games

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState, RunDir
    from selfplay.config.program import Invocation


class Saved(BaseModel, frozen=True, extra="ignore", allow_inf_nan=False):
    """The part of a state that is checked."""


class _Faults(Saved):
    injected: Count
    detected: Count
    recovered: Count
    lost: Count


class SavedExtra(Saved):
    """What every run saves."""

    restarts: Count = 0
    chaos: dict[str, _Faults] = {}
    rating_spent: float = 0.0
    gate: GateState | None = None


@contextmanager
def resumed_run(call: Invocation[Any], kind: type[Saved]) -> Iterator[tuple[RunDir, LearnerState]]:
    """The run that a call resumes, locked, and its last state."""
    run = resolve_run(Path(call.config.run.checkpoint) if "run.checkpoint" in call.explicit else None)
    with run.lock():
        state = load_latest_learner(run)
        check_state(state, kind)
        yield run, state


def check_state(state: LearnerState, kind: type[Saved]) -> None:
    """Refuse a state from which a run could not go on; the IncompatibleError names a value of another type."""
    document = state.meta.model_dump(include=set(kind.model_fields))
    parse(kind, document, str(state.path / LEARNER_FILE), IncompatibleError)


def check_ratings(run: RunDir, written: int = 0) -> None:
    """Refuse games or ratings with which the run could not go on: a second for each 100,000 games.

    ``written`` is the number of rating games that it must have.
    """
    check_rows(run.ledger, len(read_games(run.ledger)) if run.ledger.exists() else 0, written)
    own_table(run.path)
