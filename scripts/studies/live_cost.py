"""What the live page of a run costs the run, in steps a second of the training loop.

One training in the mock goes on all the time, and ``selfplay watch RUN --live`` serves its page. A headless Chromium on
the same cores, whose drawing counts too, shows the page in every other phase, and an empty one between them. The figure
is the mean, over triples of phases, of the speed with the page divided by the mean of the phases before and after it,
so that a slow drift of the run or machine cancels.
"""

from __future__ import annotations

import json
import math
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.studies import ROOT
from scripts.studies.command_line import Command, notify
from scripts.studies.install import find_chromium
from scripts.studies.pages import machine_here, this_command, write_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

DOCUMENT: Final = ROOT / "docs" / "data" / "live_cost.json"
WARM_UP_S: Final = 30.0
SETTLE_S: Final = 3.0  # at the start of a phase, not counted
LIMIT_S: Final = 120.0  # until a process must have done what is waited for


@contextmanager
def _process(*words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-m", "selfplay", *words], stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _address(server: subprocess.Popen[str]) -> str:
    """The address that the server prints."""
    assert server.stdout is not None
    for line in server.stdout:
        if "http://" in line:
            return "http://" + line.split("http://")[1].split()[0]
    raise SystemExit("the server of the page ended without an address")


def _speeds(metrics: Path, phases: list[tuple[float, float]]) -> list[float]:
    """Steps a second of each phase, from the rows that were written in it."""
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    found = []
    for start, end in phases:
        inside = [row for row in rows if start + SETTLE_S <= row["wall"] <= end]
        first, last = inside[0], inside[-1]
        found.append((last["total_steps"] - first["total_steps"]) / (last["wall"] - first["wall"]))
    return found


def measure(folder: Path, browser: str, phase_s: float, pages: int) -> dict[str, Any]:
    """The speeds of 2 ``pages`` + 1 phases, and the mean ratio with its standard error."""
    from playwright.sync_api import sync_playwright

    run = folder / "run"
    training = ("train", "--game-type", "mock", "--preset", "laptop", "--checkpoint", str(run))
    minutes = (WARM_UP_S + (2 * pages + 1) * phase_s + 60.0) / 60.0
    phases: list[tuple[float, float]] = []
    with _process(*training, "--max-minutes", f"{minutes:.2f}"):
        deadline = time.monotonic() + LIMIT_S
        while not (run / "metrics.jsonl").exists():
            if time.monotonic() > deadline:
                raise SystemExit("the training did not begin")
            time.sleep(0.2)
        with _process("watch", str(run), "--live", "--no-open", "--port", "0") as server, sync_playwright() as started:
            address = _address(server)
            chromium = started.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
            page = chromium.new_page()
            page.wait_for_timeout(1000 * WARM_UP_S)
            for phase in range(2 * pages + 1):
                began = time.time()
                page.goto(address if phase % 2 else "about:blank")
                page.wait_for_timeout(1000 * (phase_s - (time.time() - began)))
                phases.append((began, time.time()))
                notify(f"phase {phase + 1} of {2 * pages + 1}")
            speeds = _speeds(run / "metrics.jsonl", phases)
    ratios = [2 * speeds[i] / (speeds[i - 1] + speeds[i + 1]) for i in range(1, len(speeds), 2)]
    mean, error = statistics.fmean(ratios), statistics.stdev(ratios) / math.sqrt(len(ratios))
    return {
        "steps_per_s": [round(speed) for speed in speeds], "ratio": round(mean, 4), "standard_error": round(error, 4),
    }  # fmt: skip


def _run(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), find_chromium(), options.phase, options.pages)
    notify(json.dumps(found))
    if options.write:
        write_json(DOCUMENT, {"command": this_command("live_cost", ["--write"]), **machine_here(), **found})


def main() -> int:
    command = Command("live_cost", __doc__)
    command.add_argument("--pages", type=int, default=10, metavar="N", help="phases with the page (%(default)s)")
    command.add_argument("--phase", type=float, default=25.0, metavar="S", help="length of a phase (%(default)s)")
    command.add_argument("--write", action="store_true", help="write docs/data/live_cost.json")
    return command.execute(_run)


if __name__ == "__main__":
    sys.exit(main())
