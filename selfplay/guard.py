"""When a run that can no longer go on ends itself: settings of every family of games."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from selfplay.options import Group


class GuardConfig(Group):
    """Limits of what supervision cannot mend: a thread can be neither killed nor restarted."""

    loop_timeout: Annotated[float, Field(ge=0)] = Field(
        60.0, description="Seconds that the event loop may be blocked before the run ends itself; 0 = for ever"
    )
    max_abandoned: Annotated[int, Field(ge=0)] = Field(
        16, description="Threads and children that may hang at once; one more and the run saves and ends"
    )


FLAGS: Final = (("--loop-timeout", "guard.loop_timeout", "SECONDS"), ("--max-abandoned", "guard.max_abandoned", "N"))
"""Flag, setting and metavar of each."""
