"""What the doctor is asked for in tests."""

from dataclasses import replace

from selfplay_melee.commands.doctor import PlannedRun

NOTHING = PlannedRun(
    dolphin=None,
    iso=None,
    slippi_port=51441,
    num_games=1,
    headless=False,
    fast_forward=False,
    hash_disc=False,
)


def plan(**changes):
    return replace(NOTHING, **changes)
