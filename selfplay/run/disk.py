"""Handles failed writes of a run: it reports them, continues, tries again, and does not end as if all were saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from selfplay.errors import CorruptError, DiskError, says_full
from selfplay.report.health import HealthFinding
from selfplay.report.reporter import DISK, SPACE

STATE: Final = "the state of training"
GENERATION: Final = "the generation"
EXPLOITER: Final = "an exploiter"
RATINGS: Final = "rating games"
OLD: Final = "the removal of old states and generations"
SUMMARY: Final = "summary.json"
NEEDED: Final = (STATE, GENERATION, EXPLOITER, RATINGS, SUMMARY)  # required at the end of a run
AGAIN: Final = "; training goes on, and it is tried again"


@dataclass(slots=True)
class DiskWatch:
    """Remembers what could not be saved until it could."""

    notice: Callable[[str], object]
    """Called with a line for what could not be saved, once, and when it is saved after all. A full disk has one line
    for all that is not saved, and one when all is."""
    unsaved: dict[str, str] = field(default_factory=dict)  # what, and why not

    @contextmanager
    def tolerate(self, what: str, then: str = AGAIN, *, settles: bool = True) -> Iterator[None]:
        """Go on where ``what`` cannot be written, or cannot be read back as it was written.

        ``what`` is remembered where it fails; ``then`` says how the run goes on. With ``settles`` all of it is saved
        where nothing fails; else another block decides that.
        """
        try:
            yield
        except (DiskError, CorruptError) as error:
            full, before = says_full(str(error)), self.unsaved.get(what)
            known = (full and self._is_full) or (before is not None and says_full(before) == full)
            self.unsaved[what] = str(error)
            if not known:
                self.notice(f"{DISK}{what} could not be saved: {error}{then}")
        else:
            why = self.unsaved.pop(what, None) if settles else None
            if why is not None and not says_full(why):
                self.notice(f"Disk: {what} could be saved again")
            elif why is not None and not self._is_full:
                self.notice(SPACE)

    @property
    def _is_full(self) -> bool:
        """Whether something waits for space; not of exploiters, of which the next may be the last."""
        return any(says_full(why) for what, why in self.unsaved.items() if what != EXPLOITER)

    def findings(self) -> tuple[HealthFinding, ...]:
        """Current problems, as findings for ``Health``."""
        return tuple(HealthFinding("not_saved", f"Not saved: {what}: {why}") for what, why in self.unsaved.items())

    @property
    def missing(self) -> dict[str, str]:
        """Files that a finished run must have and that could not be saved, with the reason."""
        return {what: why for what, why in self.unsaved.items() if what in NEEDED}

    def refuse_to_end(self, newest: int) -> None:
        """Raise if a needed file is still unsaved at the end of a run; there are no more retries.

        The error names the files, the reasons, and ``newest``, the iteration that the run would resume from.
        """
        if self.missing:
            lost = "; ".join(f"{what} ({why})" for what, why in self.missing.items())
            raise DiskError(
                f"the run has ended, and this is not saved: {lost}. The newest state on the disk is of iteration "
                f"{newest}: make room, and go on from there with --resume"
            )
