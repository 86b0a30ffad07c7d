"""Results of checks, and what packages of games bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

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
class GuestChecks:
    """Checks of a package for its games, an entry point of the group ``selfplay.doctor``."""

    add_flags: Callable[[argparse.ArgumentParser], None]
    plan: Callable[[argparse.Namespace], Iterator[Check]]
    """The findings, each as soon as it is asked for; ConfigError at once for a flag out of range."""
