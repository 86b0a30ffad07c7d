"""Trackers by the names of ``--report-to``, checked before work starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Final, cast

from selfplay.distribution import install_command
from selfplay.errors import ConfigError, boundary
from selfplay.games.errors import UnknownNameError
from selfplay.games.plugins import is_code, load
from selfplay.report.trackers.tracker import Tracker

FLAG: Final = "--report-to"
TENSORBOARD: Final = "tensorboard"
JSONL: Final = "jsonl"
FILES: Final = (TENSORBOARD, JSONL)
"""Files in the folder of the run, which ``report.outputs`` writes."""
PACKAGES: Final[Mapping[str, tuple[str, str]]] = {
    "wandb": ("wandb_tracker", "WandbTracker"),
    "trackio": ("trackio_tracker", "TrackioTracker"),
}
"""Optional packages, each with the module and the class that reports to it; the extra has the name of the package."""


def check_trackers(names: Sequence[str]) -> None:
    """Refuse what does not exist, is not installed or cannot be used; own code is imported.

    Raises:
        ConfigError: names what is valid, or what to install.
        GameError: own code was not allowed by a person, or cannot be imported.
    """
    for name in names:
        if is_code(name):
            _own(name)
        elif name in PACKAGES:
            if find_spec(name) is None:
                raise ConfigError(f"{FLAG} {name} needs {name}, which is not installed: {install_command(name)}")
            check = getattr(_module(name), "check", None)
            if check is not None:
                check()
        elif name not in FILES:
            valid = (*FILES, *PACKAGES)
            raise ConfigError(f"{FLAG} {name}: {UnknownNameError('tracker', name, valid)}, or your own as module:Name")


def make_trackers(names: Sequence[str]) -> dict[str, Tracker]:
    """The trackers among the names, by name; errors as of ``check_trackers``."""
    made = {}
    for name in names:
        if is_code(name):
            with boundary(ConfigError, f"{FLAG} {name}"):
                made[name] = _own(name)()
        elif name in PACKAGES:
            made[name] = getattr(_module(name), PACKAGES[name][1])()
    return made


def _module(name: str) -> object:
    return import_module(f"{__package__}.{PACKAGES[name][0]}")


def _own(name: str) -> Callable[[], Tracker]:
    found = load(name, FLAG)
    if not (isinstance(found, type) and issubclass(found, Tracker)):
        raise ConfigError(f"{FLAG} {name}: a class derived from selfplay.Tracker is needed")
    return cast("Callable[[], Tracker]", found)
