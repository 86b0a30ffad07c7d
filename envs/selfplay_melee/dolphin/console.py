"""Settings of a Dolphin, and a libmelee console with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import melee

from selfplay_melee.dolphin.install import SLIPPI_PORT
from selfplay_melee.errors import DolphinError

QUIET: Final = """\
[Analytics]
Enabled = False
PermissionAsked = True
[Interface]
ConfirmStop = False
UsePanicHandlers = False
[AutoUpdate]
UpdateTrack =
[Core]
AdapterWarning = False
ShownLagReductionWarning = True
"""
"""Settings of Dolphin.ini that suppress the dialogs of a build with a window in a new user folder.

The last two are Ishiiruka's, the update track is mainline's; each build ignores the other's settings.
"""
INSTANT_MATCH: Final = "$Optional: Instant Match ["
_RANDOM_STAGE, _SAME_STAGE = "\n00000001 7C0802A6\n", "\n00000000 7C0802A6\n"  # as the code's notes say
LOADING: Final = 4  # timeout for the next screen, in timeouts for a frame


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings of a Dolphin."""

    executable: Path
    disc: Path
    slot: int = 0  # index among parallel Dolphins, which get different ports
    slots: int = 1
    slippi_port: int = SLIPPI_PORT
    headless: bool = False
    fast_forward: bool = False
    paced: bool = False  # at the game's own speed: a person plays
    play_on: bool = False  # a game goes on where an episode is cut short, and the next begins without menus
    replay_dir: Path | None = None
    start_timeout_s: float = 60.0
    frame_timeout_s: float = 30.0  # between two games ``LOADING`` times as long
    # When it is restarted: between two games, because of its memory also within one. 0: never.
    recycle_frames: int = 0  # since its start; fewer for the first one, by slot, so that not all restart at once
    recycle_mb: int = 0  # of growth since its first game began


def make_console(setup: Setup, port: int, home: Path) -> Any:  # noqa: ANN401
    """A libmelee console that writes all its files into ``home``.

    Raises:
        DolphinError: the build cannot do what was asked for, or libmelee does not know it.
    """
    save = setup.replay_dir is not None
    config = home / "Config"
    try:
        config.mkdir(parents=True, exist_ok=True)
        (config / "Dolphin.ini").write_text(QUIET, encoding="utf-8")  # libmelee adds to it
        console = melee.Console(
            path=str(setup.executable),
            dolphin_home_path=str(home),
            tmp_home_directory=False,
            slippi_port=port,
            blocking_input=True,
            online_delay=0,
            setup_gecko_codes=True,
            fullscreen=False,
            gfx_backend="Null" if setup.headless else "",
            disable_audio=not setup.paced,
            emulation_speed=1.0 if setup.paced else 0.0,
            save_replays=save,
            replay_dir=str(setup.replay_dir) if save else None,
            use_exi_inputs=setup.fast_forward,
            enable_ffw=setup.fast_forward,
            instant_match_restart=setup.play_on,
        )
        if setup.play_on:
            _keep_stage(home / "GameSettings" / "GALE01r2.ini")
    except (OSError, ValueError, RuntimeError, AssertionError) as error:
        raise DolphinError(f"{setup.executable}: libmelee cannot use it: {error}") from error
    return console


def _keep_stage(codes: Path) -> None:
    """Make the code for instant matches repeat the stage; libmelee's default is a random one."""
    text = codes.read_text(encoding="utf-8")
    before, name, code = text.partition(INSTANT_MATCH)
    if _RANDOM_STAGE not in code:
        raise ValueError("its code for instant matches is another one, which cannot be told to keep the stage")
    codes.write_text(before + name + code.replace(_RANDOM_STAGE, _SAME_STAGE, 1), encoding="utf-8")
