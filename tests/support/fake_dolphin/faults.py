"""The moments at which faults happen."""

from __future__ import annotations

import math
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.support.fake_dolphin.disc import CLOCKS

if TYPE_CHECKING:
    from tests.support.fake_dolphin.disc import Disc, Fault
    from tests.support.fake_dolphin.journal import Journal

SLOW_BOOT_S: Final = 15.0  # libmelee waits for ten
OLD_VERSION: Final = (2, 0, 0)
CRASHED: Final = 139  # exit status of a program that a shell saw die of SIGSEGV


class Faults:
    """Those of one start of the program.

    Args:
        disc: What to do wrong.
        path: Of the disc; what happened ``once`` leaves an empty file beside it.
        journal: Is told of everything that goes wrong.
    """

    def __init__(self, disc: Disc, path: Path, journal: Journal | None = None) -> None:
        self._path = path
        self._journal = journal
        self._random: random.Random = (
            random.SystemRandom() if disc.fault_seed is None else random.Random(disc.fault_seed)
        )
        self._pending = [_Pending(fault, self._wait(fault)) for fault in disc.faults]
        self._watched = {CLOCKS[fault.kind] for fault in disc.faults}

    def _wait(self, fault: Fault) -> int:
        """Moments to let pass before a random fault, 0 where its moment is fixed."""
        if fault.every is None:
            return 0
        chance = 1.0 / fault.every
        return 0 if chance >= 1.0 else int(math.log(1.0 - self._random.random()) / math.log1p(-chance))

    def now(self, clock: str, moment: int) -> str | None:
        """The kind of fault that happens at this moment of a clock; every moment is asked about once."""
        if clock not in self._watched:
            return None
        for pending in self._pending:
            if CLOCKS[pending.fault.kind] == clock and self._is_due(pending, moment):
                if self._journal is not None:
                    self._journal.note("fault", pending.fault.kind)
                return pending.fault.kind
        return None

    def _is_due(self, pending: _Pending, moment: int) -> bool:
        fault = pending.fault
        if fault.every is None:
            due = not pending.happened and (fault.at is None or moment == fault.at)
        else:
            due = pending.wait == 0
            pending.wait = self._wait(fault) if due else pending.wait - 1
        if due:
            pending.happened = True
        return due and (not fault.once or self._first(fault.kind))

    def _first(self, kind: str) -> bool:
        """Whether this kind never happened with this disc."""
        mark = self._path.with_name(f"{self._path.name}.{kind}")
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        return True


class _Pending:
    """A fault and what has become of it."""

    def __init__(self, fault: Fault, wait: int) -> None:
        self.fault = fault
        self.wait = wait
        self.happened = False


def crash() -> None:
    """End as a program does that died of SIGSEGV: at once, with nothing put away."""
    os._exit(CRASHED)
