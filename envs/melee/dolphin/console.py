"""How a Dolphin is run: our settings, and libmelee's console that has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import melee

from envs.errors import DolphinError
from envs.melee.dolphin.install import SLIPPI_PORT

LOADING: Final = 4  # times as long as for a frame is waited for the next screen


@dataclass(frozen=True, slots=True)
class Setup:
    """How a Dolphin is run."""

    executable: Path
    disc: Path
    slot: int = 0  # among all that run side by side: they get different ports
    slots: int = 1
    slippi_port: int = SLIPPI_PORT
    headless: bool = False
    fast_forward: bool = False
    paced: bool = False  # at the game's own speed: a person plays
    replay_dir: Path | None = None
    start_timeout_s: float = 60.0
    frame_timeout_s: float = 5.0  # between two games ``LOADING`` times as long


def make_console(setup: Setup, port: int, home: Path) -> Any:  # noqa: ANN401
    """A console of libmelee's with everything that it writes into ``home``.

    Raises:
        DolphinError: the build cannot do what was asked for, or libmelee does not know it.
    """
    save = setup.replay_dir is not None
    try:
        return melee.Console(
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
        )
    except (OSError, ValueError, RuntimeError, AssertionError) as error:
        raise DolphinError(f"{setup.executable}: libmelee cannot use it: {error}") from error
