"""One run from a configuration to its last line. What needs no torch, which takes seconds to load, comes first."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from selfplay.checkpoint import check_new_run
from selfplay.config.resolve import resolve_ppo
from selfplay.machine import usable_cores
from selfplay.memory_limits import check_address_space
from selfplay.ppo.saved_state import PPOState
from selfplay.run.saved_state import resumed_run

if TYPE_CHECKING:
    from selfplay.config.ppo import Config
    from selfplay.config.program import Invocation
    from selfplay.ppo.session import Hooks


def train(call: Invocation[Config], stream: TextIO | None = None, hooks: Hooks | None = None) -> int:
    """Train a run to its end; the exit code. Output goes to ``stream``, by default standard output.

    Raises:
        SelfPlayError: with the message and exit code for the user.
    """
    stream, notices = stream or sys.stdout, list[str]()
    check_address_space(usable_cores())
    if call.resume:
        with resumed_run(call, PPOState) as (run, state):
            config = resolve_ppo(call.config, call.explicit, state, notices.append)
            from selfplay.ppo import app

            return app.resume(replace(call, config=config), run, state, stream, hooks, notices)
    config = resolve_ppo(call.config, call.explicit, notice=notices.append)
    check_new_run(Path(config.run.checkpoint), is_default="run.checkpoint" not in call.explicit)
    from selfplay.ppo import app

    return app.start(replace(call, config=config), stream, hooks, notices)
