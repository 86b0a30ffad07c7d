"""Checks of Dolphin, the disc and libmelee for a run of real games, made before its folder is created."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.distribution import install_command
from selfplay.errors import ConfigError
from selfplay_melee.dolphin.disc import judge_disc
from selfplay_melee.dolphin.install import check_build, check_disc, find_executable, version_of
from selfplay_melee.errors import DolphinError

if TYPE_CHECKING:
    from selfplay_melee.dolphin.disc import Verdict
    from selfplay_melee.dolphin.install import DolphinVersion
    from selfplay_melee.settings import RealRun

DRIVER: Final = "melee"  # the module of libmelee


def with_dolphin_paths(config: RealRun, notice: Callable[[str], object]) -> RealRun:
    """The configuration with absolute paths of Dolphin and the disc. Blocks.

    ``notice`` is called with what may be wrong with the disc. ConfigError if one of them, or libmelee, is missing or
    cannot do what is asked of it.
    """
    game = config.game
    if game.dolphin is None or game.iso is None:
        missing = "--dolphin PATH (Slippi Dolphin)" if game.dolphin is None else "--iso PATH (your Melee 1.02 disc)"
        raise ConfigError(f"--game-type {game.type} needs {missing}; selfplay doctor helps, and docs/melee/dolphin.md")
    if find_spec(DRIVER) is None:
        raise ConfigError(f"--game-type {game.type} needs libmelee: {install_command('dolphin')}")
    executable, version = _dolphin(game.dolphin)
    disc, verdict = _disc(game.iso)
    emulator = config.emulator
    try:
        check_build(
            executable,
            version,
            headless=emulator.headless,
            fast_forward=emulator.fast_forward,
            person=emulator.human_port is not None,
        )
    except DolphinError as error:
        raise ConfigError(str(error)) from error
    if verdict.mainline_only and not version.mainline:
        raise ConfigError(f"--iso {disc}: {verdict.text}; {executable} is Ishiiruka, which cannot read it")
    if verdict.level == "warning":
        notice(f"--iso {disc}: {verdict.text}")
    paths = {"dolphin": str(executable), "iso": str(disc)}
    return config.model_copy(update={"game": game.model_copy(update=paths)})


def _dolphin(path: str) -> tuple[Path, DolphinVersion]:
    try:
        executable = find_executable(path)
        return executable, version_of(executable)
    except DolphinError as error:
        raise ConfigError(f"--dolphin {error}") from error


def _disc(path: str) -> tuple[Path, Verdict]:
    try:
        return check_disc(path), judge_disc(path, hash_it=False)
    except DolphinError as error:
        raise ConfigError(f"--iso {error}") from error
