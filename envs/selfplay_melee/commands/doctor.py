"""Checks of requirements of real games beyond Python: Dolphin, the disc, ports, a display."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from selfplay.commands.doctor.finding import Check, Level, PlannedRun
from selfplay_melee.dolphin.disc import judge_disc
from selfplay_melee.dolphin.install import DolphinVersion, find_executable, free_port, launcher_folder, version_of
from selfplay_melee.errors import DolphinError

DEV_FUSE: Final = Path("/dev/fuse")
_APP_IMAGE: Final = b"AI\x02"  # from byte 8 on
_EXTRACT: Final = "start it once with --appimage-extract and give --dolphin the folder squashfs-root"


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


def _level(given: str | None) -> Level:
    """Severity: error for a path the user gave, warning for one found automatically."""
    return "warn" if given is None else "FAIL"


def _is_app_image(executable: Path) -> bool:
    try:
        with executable.open("rb") as file:
            return file.read(11)[8:] == _APP_IMAGE
    except OSError:
        return False
