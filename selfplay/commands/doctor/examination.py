"""All checks, in the order of a report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from selfplay.commands.doctor import emulator, resources, software

if TYPE_CHECKING:
    from selfplay.commands.doctor.finding import Check, PlannedRun


def examine(plan: PlannedRun) -> Iterator[Check]:
    """The findings, each as soon as it is made; hashing a disc takes seconds, loading torch too."""
    yield software.system()
    yield software.python()
    yield software.packages()
    yield software.torch()
    yield software.rules()
    yield software.compile_cache()
    yield software.libmelee(plan)
    finding, dolphin = emulator.dolphin(plan)
    yield finding
    yield from filter(None, (emulator.build(plan, dolphin), emulator.app_image(dolphin)))
    yield emulator.disc(plan, dolphin)
    yield emulator.ports(plan)
    yield emulator.display(plan, dolphin)
    yield resources.checkpoint_disk(plan)
    yield resources.temporary_disk()
    yield resources.shared_memory()
    yield resources.memory(plan)
    yield resources.cores(plan)
