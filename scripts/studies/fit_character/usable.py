"""Which replays can be fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scripts.studies.fidelity.coverage import CHARACTER, STAGE, reasons

if TYPE_CHECKING:
    from envs.melee.replay import Replay

NEEDED: Final = {"players.speed_y", "players.hitlag"}  # what old files do not record


def usable(replay: Replay) -> bool:
    """Whether the mock has its stage and characters, and the file has speeds."""
    seen = set(reasons(replay).tolist())
    return not seen & {CHARACTER, STAGE} and not NEEDED & set(replay.absent)
