"""One run of dialogue self-play. What needs no torch, which takes seconds to load, comes first."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pydantic import Field

from selfplay.checkpoint import check_new_run
from selfplay.checkpoint.documents import Count
from selfplay.config import program
from selfplay.dialogue.program import DIALOGUE, resolve_dialogue
from selfplay.league.matchmaker import MatchmakerState
from selfplay.machine import usable_cores
from selfplay.memory_limits import check_address_space
from selfplay.run.saved_state import Saved, SavedExtra, resumed_run

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.config.program import Invocation
    from selfplay.dialogue.settings import DialogueConfig


class _Extra(SavedExtra):
    games: Count
    lost: Count
    base: str
    baseline: dict[Count, float] = Field(default_factory=dict)


class _State(Saved):
    """The part of a state from which a run goes on."""

    matchmaker: MatchmakerState
    extra: _Extra


def call(
    document: Mapping[str, Any],
    named: Mapping[str, Any],
    preset: str | None,
    resume: bool,
    stream: TextIO,
    on_run: Callable[[RunDir], object],
) -> int:
    """Train a run as ``selfplay.train`` says; the exit code.

    Args:
        document: Settings by group and name.
        named: Others, by dotted name.
        preset: See ``program.invoke``.
        resume: See ``program.invoke``.
        stream: Of the lines.
        on_run: Called with the run.
    """
    explicit = program.flatten(DIALOGUE, document, "config") | dict(named)
    return train(program.invoke(DIALOGUE, explicit, preset, resume), stream, on_run)


def train(
    call: Invocation[DialogueConfig],
    stream: TextIO | None = None,
    on_run: Callable[[RunDir], object] = lambda _: None,
) -> int:
    """Train a run to its end; the exit code. Arguments and errors as of ``selfplay.ppo.train.train``."""
    stream = stream or sys.stdout
    check_address_space(usable_cores())
    is_default = "run.checkpoint" not in call.explicit
    if call.resume:
        with resumed_run(call, _State) as (run, state):
            config = resolve_dialogue(call.config, call.explicit, state)
            from selfplay.dialogue import app

            on_run(run)
            return app.resume(config, run, state, call.preset, stream)
    config = resolve_dialogue(call.config, call.explicit)
    check_new_run(Path(config.run.checkpoint), is_default=is_default)
    from selfplay.dialogue import app

    return app.start(config, is_default, call.preset, stream, on_run)
