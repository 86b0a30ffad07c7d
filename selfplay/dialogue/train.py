"""One run of dialogue self-play. What needs no torch, which takes seconds to load, comes first."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from selfplay.checkpoint import check_new_run, load_latest_learner, resolve_run
from selfplay.dialogue.program import resolve_dialogue
from selfplay.machine import usable_cores
from selfplay.memory_limits import check_address_space
from selfplay.run.saved_state import DialogueState, check_state

if TYPE_CHECKING:
    from selfplay.config.program import Invocation
    from selfplay.dialogue.settings import DialogueConfig


def train(call: Invocation[DialogueConfig], stream: TextIO | None = None) -> int:
    """Train a run to its end; the exit code. Arguments and errors as of ``selfplay.ppo.train.train``."""
    stream = stream or sys.stdout
    check_address_space(usable_cores())
    folder, named = Path(call.config.run.checkpoint), "run.checkpoint" in call.explicit
    if call.resume:
        run = resolve_run(folder if named else None)
        with run.lock():
            state = load_latest_learner(run)
            check_state(state, DialogueState)
            config = resolve_dialogue(call.config, call.explicit, state)
            from selfplay.dialogue import app

            return app.resume(config, run, state, call.preset, stream)
    config = resolve_dialogue(call.config, call.explicit)
    check_new_run(folder, is_default=not named)
    from selfplay.dialogue import app

    return app.start(config, not named, call.preset, stream)
