"""One training by imitation. What needs no torch, which takes seconds to load, comes first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from selfplay.imitation.resolve import resolve_imitation
from selfplay.machine import usable_cores
from selfplay.memory_limits import check_address_space

if TYPE_CHECKING:
    from selfplay.config.program import Invocation
    from selfplay.imitation.settings import ImitationConfig


def train(call: Invocation[ImitationConfig], stream: TextIO | None = None) -> int:
    """Train to the end; the exit code. Arguments and errors as of ``selfplay.ppo.train.train``."""
    stream = stream or sys.stdout
    check_address_space(usable_cores())
    config = call.config if call.resume else resolve_imitation(call.config, call.explicit)
    from selfplay.imitation import app

    if call.resume:
        return app.resume(config, call.explicit, call.preset, stream)
    return app.start(config, call.preset, stream)
