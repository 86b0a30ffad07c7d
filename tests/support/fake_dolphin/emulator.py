"""The program that libmelee starts: ``dolphin --version`` and ``dolphin -e DISC -u HOME [--platform headless]``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from selfplay.games.errors import GameError
from tests.support.fake_dolphin.disc import Disc, read_disc
from tests.support.fake_dolphin.say import say
from tests.support.fake_dolphin.server import DOLPHIN_VERSION

# What each build says to --version: exit code, stdout, stderr.
VERSIONS: Final = {
    "exi_ai_mainline": (0, f"Slippi Dolphin {DOLPHIN_VERSION}-mainline-ExiAI", ""),
    "mainline": (0, f"Slippi Dolphin {DOLPHIN_VERSION}-mainline", ""),
    "ishiiruka": (255, f"Faster Melee - Slippi ({DOLPHIN_VERSION})", ""),
    "exi_ai_ishiiruka": (1, "", f"Faster Melee - Slippi ({DOLPHIN_VERSION}) - ExiAI"),
}
MISTAKE: Final = 2  # exit code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(MISTAKE, f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    """The command line, as far as libmelee uses that of Dolphin."""
    made = _Parser(prog="dolphin", description=__doc__, allow_abbrev=False)
    made.add_argument("--disc", type=Path, metavar="FILE", help="whose persona --version tells; no option of Dolphin's")
    made.add_argument("--uncompiled", type=Path, metavar="FILE", help="play plain rules, with tables of this file")
    made.add_argument("--version", action="store_true")
    made.add_argument("-e", "--exec", type=Path, metavar="FILE", help="the disc: settings, or anything for defaults")
    made.add_argument("-u", "--user", type=Path, metavar="DIR", help="user folder")
    made.add_argument("--platform", choices=["headless", "x11"], help="changes nothing")
    made.add_argument("-b", "--batch", action="store_true", help="changes nothing")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run the program; its exit code."""
    try:
        options = parser().parse_args(arguments)
        if options.version:
            return _tell_version(options.disc)
        if options.user is None:
            raise GameError("no user folder: -u HOME")
        disc = read_disc(options.exec) if options.exec else Disc()
        _run(disc, options.exec or Path("disc"), options.user, options.uncompiled)
    except GameError as error:
        say(str(error))
        return MISTAKE
    except KeyboardInterrupt:
        pass
    return 0


def _tell_version(disc: Path | None) -> int:
    code, out, err = VERSIONS[(read_disc(disc) if disc else Disc()).persona]
    for text, file in ((out, sys.stdout), (err, sys.stderr)):
        if text:
            file.write(f"{text}\n")
    return code


def _run(disc: Disc, path: Path, home: Path, uncompiled: Path | None) -> None:
    """Boot, and play for ever. The port opens before what takes long is loaded."""
    from tests.support.fake_dolphin.config import read_settings
    from tests.support.fake_dolphin.faults import SLOW_BOOT_S, Faults
    from tests.support.fake_dolphin.journal import Journal
    from tests.support.fake_dolphin.server import Spectators

    signal.signal(signal.SIGTERM, _end)
    settings = read_settings(home)
    journal = Journal(disc.journal, settings.spectator_port)
    journal.note("start")
    faults = Faults(disc, path, journal)
    fault = faults.now("start", 0)
    if fault == "no_start":
        sys.exit(1)
    while fault == "dead_port":
        time.sleep(3600.0)
    time.sleep(disc.boot_s + (SLOW_BOOT_S if fault == "slow_boot" else 0.0))
    spectators = Spectators(settings.spectator_port)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"

    if uncompiled is not None:
        from tests.support.fake_dolphin.uncompiled import use_uncompiled

        use_uncompiled(uncompiled)

    from tests.support.fake_dolphin.machine import Machine

    Machine(disc, settings, spectators, faults, journal).run()


def _end(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main())
