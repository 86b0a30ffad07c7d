"""Checks of requirements of real games: libmelee, Dolphin, the disc, ports, a display, memory and cores."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from selfplay.commands.doctor.finding import Check, GuestChecks, Level
from selfplay.commands.doctor.software import UNKNOWN, unmet
from selfplay.distribution import install_command, requirements
from selfplay.errors import ConfigError
from selfplay.machine import usable_cores
from selfplay.memory_limits import as_size, available_memory
from selfplay_melee.dolphin.disc import judge_disc
from selfplay_melee.dolphin.install import (
    FIRST_PORT,
    LAST_PORT,
    SLIPPI_PORT,
    DolphinVersion,
    find_executable,
    free_port,
    launcher_folder,
    version_of,
)
from selfplay_melee.errors import DolphinError

DEV_FUSE: Final = Path("/dev/fuse")
_APP_IMAGE: Final = b"AI\x02"  # from byte 8 on
_EXTRACT: Final = "start it once with --appimage-extract and give --dolphin the folder squashfs-root"
_DOLPHIN_MB: Final = 300  # of one Dolphin, as a rule of thumb; the bench measures
_WORKER_MB: Final = 160
"""The process that drives one Dolphin: peak of 155 MB with compiled rules and libmelee (Linux, Python 3.11)."""


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

    @property
    def real_games(self) -> bool:
        """True if the user names an emulator or a disc, which makes their requirements mandatory."""
        return self.dolphin is not None or self.iso is not None


def add_flags(made: argparse.ArgumentParser) -> None:
    made.add_argument("--dolphin", metavar="PATH", help="Slippi Dolphin: its folder or executable")
    made.add_argument("--iso", metavar="PATH", help="Melee 1.02 disc image")
    made.add_argument("--fast", action="store_true", help="do not hash the image, which reads 1.4 GB")
    made.add_argument("--headless", action="store_true", help="check for emulators without windows")
    made.add_argument("--fast-forward", action="store_true", help="check for emulators without a speed limit")
    made.add_argument(
        "--slippi-port", type=int, default=SLIPPI_PORT, metavar="N", help="first of their ports (default: %(default)s)"
    )
    made.add_argument("--num-games", type=int, default=1, metavar="N", help="emulators (default: %(default)s)")


def plan_of(options: argparse.Namespace) -> PlannedRun:
    """Convert parsed arguments to the run that is checked for; ConfigError for a number out of range."""
    if not FIRST_PORT <= options.slippi_port <= LAST_PORT:
        raise ConfigError(f"--slippi-port {options.slippi_port}: {FIRST_PORT} to {LAST_PORT} is valid")
    if options.num_games < 1:
        raise ConfigError(f"--num-games {options.num_games}: at least 1 is needed")
    return PlannedRun(
        dolphin=options.dolphin,
        iso=options.iso,
        slippi_port=options.slippi_port,
        num_games=options.num_games,
        headless=options.headless,
        fast_forward=options.fast_forward,
        hash_disc=not options.fast,
    )


def examine(plan: PlannedRun) -> Iterator[Check]:
    yield libmelee(plan)
    finding, there = dolphin(plan)
    yield finding
    yield from filter(None, (build(plan, there), app_image(there)))
    yield disc(plan, there)
    yield ports(plan)
    yield display(plan, there)
    yield emulators(plan)


CHECKS: Final = GuestChecks(add_flags, lambda options: examine(plan_of(options)))


def libmelee(plan: PlannedRun) -> Check:
    level: Level = "FAIL" if plan.real_games else "warn"
    remedy = f"real games need it: {install_command('dolphin')}"
    wanted = requirements("dolphin")
    if wanted is None:
        return Check(level, "libmelee", UNKNOWN, remedy)
    if wrong := unmet(wanted):
        return Check(level, "libmelee", ", ".join(wrong), remedy)
    return Check("ok", "libmelee", importlib.metadata.version("melee"))


@dataclass(frozen=True, slots=True)
class FoundDolphin:
    """Dolphin on this machine; no executable if it is missing, no version if it did not answer."""

    executable: Path | None = None
    version: DolphinVersion | None = None


def dolphin(plan: PlannedRun) -> tuple[Check, FoundDolphin]:
    """The executable, and its answer to ``--version``; without ``--dolphin`` the launcher's is looked for."""
    if plan.dolphin is None and not launcher_folder().is_dir():
        found = f"not given, and no launcher's at {launcher_folder()}"
        remedy = "real games need it: --dolphin PATH (docs/melee/dolphin.md)"
        return Check("warn", "Dolphin", found, remedy), FoundDolphin()
    executable = None
    try:
        executable = find_executable(plan.dolphin or launcher_folder())
        version = version_of(executable)
    except DolphinError as error:
        return Check(_level(plan.dolphin), "Dolphin", str(error)), FoundDolphin(executable)
    line = "mainline" if version.mainline else "Ishiiruka"
    kind = f"{line}, ExiAI" if version.exi_ai else line
    return Check("ok", "Dolphin", f"{executable}: {version.text} ({kind})"), FoundDolphin(executable, version)


def build(plan: PlannedRun, there: FoundDolphin) -> Check | None:
    """Check that the build supports ``--headless`` and ``--fast-forward``, if given; None if its version is unknown."""
    version = there.version
    if version is None:
        return None
    window = "windowed or headless" if version.can_show and version.can_be_headless else "windowed only"
    can = f"{window if version.can_show else 'headless only'}, {'' if version.can_fast_forward else 'no '}fast-forward"
    if plan.headless and not version.can_be_headless:
        return Check("FAIL", "build", can, "--headless needs ExiAI, or a mainline build that was made for it")
    if plan.fast_forward and not version.can_fast_forward:
        return Check("FAIL", "build", can, "--fast-forward needs an ExiAI build")
    return Check("ok", "build", can)


def app_image(there: FoundDolphin) -> Check | None:
    """Check that the system can mount an AppImage; None if there is no executable or it is no AppImage."""
    if there.executable is None or not _is_app_image(there.executable):
        return None
    if there.version is not None:
        return Check("ok", "AppImage", "it runs")
    missing = [] if DEV_FUSE.exists() else [str(DEV_FUSE)]
    if not (shutil.which("fusermount") or shutil.which("fusermount3")):
        missing.append("fusermount")
    if missing:
        return Check("FAIL", "AppImage", f"cannot be mounted without {' and '.join(missing)}", _EXTRACT)
    return Check("warn", "AppImage", "does not run though FUSE is there (some want libfuse.so.2)", _EXTRACT)


def disc(plan: PlannedRun, there: FoundDolphin) -> Check:
    if plan.iso is None:
        return Check("warn", "disc", "not given", "real games need your own image of Melee 1.02: --iso PATH")
    try:
        verdict = judge_disc(plan.iso, hash_it=plan.hash_disc)
    except DolphinError as error:
        return Check("FAIL", "disc", str(error))
    if verdict.mainline_only and there.version is not None and not there.version.mainline:
        return Check(
            "FAIL", "disc", f"{verdict.text}; Ishiiruka cannot read it", "convert it to ISO with a newer Dolphin"
        )
    return Check("ok" if verdict.level == "ok" else "warn", "disc", verdict.text)


def ports(plan: PlannedRun) -> Check:
    try:
        found = [free_port(plan.slippi_port, slot, plan.num_games) for slot in range(plan.num_games)]
    except DolphinError as error:
        return Check("FAIL", "ports", str(error))
    shown = str(found[0]) if len(found) == 1 else f"{min(found)} to {max(found)}"
    moved = sum(port - slot != plan.slippi_port for slot, port in enumerate(found))
    taken = f"; {moved} moved from ports that are taken" if moved else ""
    return Check("ok", "ports", f"UDP {shown}{taken}")


def display(plan: PlannedRun, there: FoundDolphin) -> Check:
    if platform.system() != "Linux":
        return Check("ok", "display", "the system's")
    if found := next((name for name in ("DISPLAY", "WAYLAND_DISPLAY") if os.environ.get(name)), None):
        return Check("ok", "display", f"{found}={os.environ[found]}")
    if plan.headless or there.version is None or not there.version.can_show:
        return Check("ok", "display", "none; only a Dolphin with a window needs one")
    remedy = "--headless, an ExiAI build, or xvfb-run before the command"
    return Check(_level(plan.dolphin), "display", "none, and this Dolphin opens a window", remedy)


def emulators(plan: PlannedRun) -> Check:
    """Memory and cores for the emulators and the processes that drive them, by rule of thumb."""
    each = _DOLPHIN_MB + _WORKER_MB
    wanted = plan.num_games * each << 20
    found = f"{as_size(wanted)} for --num-games {plan.num_games} in Dolphin (about {each} MB each)"
    available = available_memory()
    if available is not None and wanted > available.amount:
        return Check("warn", "emulators", f"{found}, {as_size(available.amount)} free", "lower --num-games")
    if plan.num_games > usable_cores():
        return Check("warn", "emulators", f"{found}, which share {usable_cores()} cores")
    return Check("ok", "emulators", found)


def _level(given: str | None) -> Level:
    """Severity: error for a path the user gave, warning for one found automatically."""
    return "warn" if given is None else "FAIL"


def _is_app_image(executable: Path) -> bool:
    try:
        with executable.open("rb") as file:
            return file.read(11)[8:] == _APP_IMAGE
    except OSError:
        return False
