"""Make the pictures of the README: a fight of a shipped policy, and the page of a run of docs/melee/learning.md."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PIL import Image

from scripts.studies import ROOT
from scripts.studies.command_line import Command, notify
from scripts.studies.pages import measured_here, write_json
from selfplay.errors import SelfPlayError

if TYPE_CHECKING:
    import argparse

DOCUMENT: Final = ROOT / "docs" / "data" / "pictures.json"
FIGHT, PAGE = "docs/melee/fight.gif", "docs/data/page.png"
WATCH: Final = ("watch", "expert", "--seconds", "7", "--out", FIGHT)
SELFPLAY: Final = (sys.executable, "-m", "selfplay")
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
SIZE: Final = "1280,1600"  # of the browser's window
LIMIT_S: Final = 300.0  # of one program


def main() -> int:
    command = Command("pictures", __doc__)
    command.add_runs("learning")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SelfPlayError(f"a browser is needed for the picture of the page: one of {', '.join(BROWSERS)}")
    notify(_output(*SELFPLAY, *WATCH))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        run = os.path.relpath(options.runs / "seed_0", ROOT)  # the page shows it
        _output(*SELFPLAY, "leaderboard", run, "--html", str(page))
        _output(
            *(browser, "--headless", "--no-sandbox", "--hide-scrollbars", "--force-dark-mode", f"--window-size={SIZE}"),
            *("--virtual-time-budget=10000", f"--user-data-dir={folder}/profile"),
            *(f"--screenshot={ROOT / PAGE}", page.as_uri()),
        )
    _shrink(ROOT / PAGE)
    made = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in (FIGHT, PAGE)}
    write_json(DOCUMENT, {**measured_here(), "command": " ".join(("selfplay", *WATCH)), "sha256": made})


def _shrink(picture: Path) -> None:
    """Keep 256 colours, which take a third of the bytes and look the same."""
    Image.open(picture).convert("RGB").quantize(dither=Image.Dither.NONE).save(picture, optimize=True)


def _output(*command: str) -> str:
    """What a program prints.

    Raises:
        SelfPlayError: it failed, or did not end.
    """
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise SelfPlayError(f"{command[0]} did not end within {LIMIT_S:g} s") from error
    if done.returncode:
        raise SelfPlayError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
