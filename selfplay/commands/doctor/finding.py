"""Input and result of a check."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Level = Literal["ok", "warn", "FAIL"]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report."""

    level: Level
    name: str
    found: str
    remedy: str = ""

    def line(self) -> str:
        return f"{self.level:<4}  {self.name}: {self.found}{f'; {self.remedy}' if self.remedy else ''}"


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """The run that the machine is examined for, with the meaning of the training's flags."""

    dolphin: str | None
    iso: str | None
    slippi_port: int
    num_games: int
    headless: bool
    fast_forward: bool
    hash_disc: bool
    checkpoints: Path

    @property
    def real_games(self) -> bool:
        """True if the user names an emulator or a disc, which makes their requirements mandatory."""
        return self.dolphin is not None or self.iso is not None
