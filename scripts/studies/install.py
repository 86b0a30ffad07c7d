"""Time the way from an empty folder with nothing but Python to a fight in the browser, as README says for wheels.

Makes a virtual environment, installs the wheel of this project in it, calls ``selfplay play strong``, opens the page in
a headless Chromium and begins a fight, until its picture changes. All wheels come from a folder, so that downloads do
not count; caches and the home folder are empty. The folder is made by::

    make wheels ARGS="--out WHEELS"
    pip download --dest WHEELS --find-links WHEELS selfplay-arena

About a minute a run on an idle machine. Each run has the load average at its start and end, since other programs share
the processor, and the processor time of all that it started.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.studies import ROOT
from scripts.studies.command_line import Command, notify
from scripts.studies.pages import machine_here, this_command, write_json
from selfplay.distribution import NAME
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from playwright.sync_api import Page

DOCUMENT: Final = ROOT / "docs" / "data" / "install.json"
CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome")
LIMIT_S: Final = 900.0  # of one step


class Laps:
    """Seconds of each step of a run."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def of(self, step: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[step] = round(time.monotonic() - began, 1)
        notify(f"{step} {self.seconds[step]}")


def find_chromium() -> str:
    """The path of a Chromium; ConfigError if none is installed."""
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser is None:
        raise ConfigError(f"a browser is needed: one of {', '.join(CHROMIUM)}")
    return browser


def measure(folder: Path, wheels: Path, browser: str) -> dict[str, float]:
    """The figures of one run in an empty folder."""
    home = folder / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "NUMBA_", "PYTHON"))}
    environment = kept | {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "PIP_CONFIG_FILE": os.devnull}
    load, before = os.getloadavg()[0], os.times()
    laps = Laps()

    def call(*command: str) -> None:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True, timeout=LIMIT_S, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}")

    programs = folder / ".venv" / "bin"
    with laps.of("environment_s"):
        call(sys.executable, "-m", "venv", ".venv")
    with laps.of("install_s"):
        call(f"{programs}/pip", "install", "--quiet", "--no-compile", "--no-index", "--find-links", str(wheels), NAME)
    with laps.of("page_s"):
        call(str(programs / "selfplay"), "play", "novice", "--no-open")
    _fight(folder / "play.html", browser, laps)
    total = round(sum(laps.seconds.values()), 1)
    after = os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return {
        **laps.seconds, "total_s": total, "processor_s": round(processor, 1),
        "load_before": round(load, 1), "load_after": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def _fight(path: Path, browser: str, laps: Laps) -> None:
    """Open the page, begin a fight, and wait until its picture changes."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        with laps.of("browser_s"):
            started = playwright.chromium.launch(
                executable_path=browser, args=["--no-sandbox", "--disable-gpu"], timeout=1000 * LIMIT_S
            )
            page = started.new_page()
            page.set_default_timeout(1000 * LIMIT_S)
            page.goto(path.absolute().as_uri())
        with laps.of("fight_s"):
            page.get_by_role("button", name="Fight", exact=True).click()
            page.locator('#game-root[data-screen="arena"]').wait_for()
            first = _picture(page)
            while _frame(page) == 0 or _picture(page) == first:  # the countdown comes first
                page.wait_for_timeout(50)
        started.close()


def _frame(page: Page) -> int:
    return int(page.locator("#arena-view").get_attribute("data-frame") or 0)


def _picture(page: Page) -> str:
    picture: str = page.locator("#arena-view").evaluate("canvas => canvas.toDataURL()")
    return picture


def _run(options: argparse.Namespace) -> None:
    browser = find_chromium()
    wheels = options.wheels.resolve()
    (wheel, *_) = sorted(wheels.glob("selfplay_arena-*-cp*.whl")) or [None]
    if wheel is None:
        raise ConfigError(f"--wheels {wheels}: there is no wheel of this project; see --help")
    torch = next((path.name.split("-")[1] for path in wheels.glob("torch-*.whl")), None)
    runs = []
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(measure(Path(folder), wheels, browser))
        notify(json.dumps(runs[-1]))
    if options.write:
        said = subprocess.run([browser, "--version"], capture_output=True, text=True, check=True).stdout.split()
        versions = {"python": platform.python_version(), "torch": torch, "chromium": said[1]}
        command = this_command("install", ["--write", "--wheels", str(options.wheels)])
        made: dict[str, Any] = {
            "command": command, **machine_here(), "wheel": wheel.name,
            "versions": versions, "runs": runs,
        }  # fmt: skip
        write_json(DOCUMENT, made)


def main() -> int:
    command = Command("install", __doc__)
    command.add_argument("--wheels", type=Path, required=True, metavar="DIR", help="wheels of this project and others")
    command.add_argument("--runs", type=int, default=1, metavar="N", help="each in a new folder (%(default)s)")
    command.add_argument("--write", action="store_true", help="write docs/data/install.json")
    return command.execute(_run)


if __name__ == "__main__":
    sys.exit(main())
