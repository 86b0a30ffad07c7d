"""What the doctor is asked for in tests."""

from dataclasses import replace
from pathlib import Path

from selfplay.commands.doctor.finding import PlannedRun

NOTHING = PlannedRun(
    dolphin=None,
    iso=None,
    slippi_port=51441,
    num_games=1,
    headless=False,
    fast_forward=False,
    hash_disc=False,
    checkpoints=Path("checkpoints"),
)


def plan(**changes):
    return replace(NOTHING, **changes)
