"""Time the first commands of README in fresh clones with empty caches: ``make train``, a page to play, a second clone.

Each run clones this checkout as it is committed, and has a cache folder of its own, so that no package and no compiled
code of this account is used. About seven minutes a run on an idle machine with a fast network. --page times the
commands of the quickstart instead, in an empty folder with this interpreter.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.studies import ROOT
from scripts.studies.command_line import Command, notify
from scripts.studies.pages import machine_here, put_between, table, this_command, write_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

DOCUMENT: Final = ROOT / "docs" / "data" / "first_hour.json"
PAGE: Final = ROOT / "docs" / "trainer/internals/performance.md"
QUICKSTART: Final = ROOT / "docs" / "quickstart.md"
NOT_TYPED: Final = ("git ", "make ", "source ")  # --runs has the time of an installation
FIGURES: Final = {  # of a run, with the words of the table
    "install_s": "installation of `make train`, s",
    "installed_mb": "its `.venv`, MB",
    "compile_s": "compiling the rules, s",
    "first_iteration_s": "first training iteration after the start of `make train`, s",
    "train_s": "`make train`, s",
    "second_first_iteration_s": "a second clone: first iteration after the end of the installation, s",
    "play_s": "`selfplay play strong`, the rules for browsers included, s",
    "imitation_s": "imitation of scripted players with another seed, s",
}


def measure(folder: Path) -> dict[str, float]:
    """The figures of one run."""
    first, second = (_clone(folder / name) for name in ("first", "second"))
    train = Timed(("make", "train"), first)
    ready, end = train.at("== ready"), train.at("")
    size = subprocess.run(["du", "-sm", ".venv"], cwd=first, capture_output=True, text=True, check=True).stdout
    again = Timed(("make", "train", "MINUTES=0.2"), second)
    selfplay = str(first / ".venv" / "bin" / "selfplay")
    play = Timed((selfplay, "play", "novice", "--no-open"), first)
    words = ("train", "--preset", "laptop", "--seed", "1", "--max-minutes", "0.05", "--checkpoint", "other")
    other = Timed((selfplay, *words), first)
    return {
        "install_s": ready,
        "installed_mb": float(size.split()[0]),
        "compile_s": train.seconds(r"Compiled the game rules in (\d+) s"),
        "first_iteration_s": train.at("Iter 1:"),
        "train_s": end,
        "second_first_iteration_s": round(again.at("Iter 1:") - again.at("== ready"), 1),
        "play_s": play.at(""),
        "imitation_s": other.seconds(r"Imitated scripted players in (\d+) s"),
    }


def measure_page(folder: Path) -> list[dict[str, float | str]]:
    """The commands of the quickstart with their seconds, typed in order."""
    from tests.scripts.documented_lines import lines_of

    found: list[dict[str, float | str]] = []
    for line in lines_of(str(QUICKSTART.relative_to(ROOT))):
        if line.startswith(NOT_TYPED):
            continue
        _, *words = shlex.split(line)
        opens = ("--no-open",) if words[0] == "play" else ()
        timed = Timed((sys.executable, "-m", "selfplay", *words, *opens), folder)
        found.append({"command": line, "seconds": timed.at("")})
    return found


class Timed:
    """Runs a command to its end and keeps when it printed each line."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        environment = os.environ | {"XDG_CACHE_HOME": str(folder.parent / "cache"), "PYTHONUNBUFFERED": "1"}
        for name in ("NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE"):  # a new account has neither
            environment.pop(name, None)
        began = time.monotonic()
        self._lines: list[tuple[float, str]] = []
        with subprocess.Popen(
            command, cwd=folder, env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            for line in process.stdout:
                self._lines.append((time.monotonic() - began, line))
        self._lines.append((time.monotonic() - began, "\n"))
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{''.join(line for _, line in self._lines)}")

    def at(self, text: str) -> float:
        """Seconds until the first line with a text; until the end if the text is empty."""
        found = [seconds for seconds, line in self._lines if text in line]
        return round(found[0] if text else found[-1], 1)

    def seconds(self, pattern: str) -> float:
        """The number that a line says."""
        return next(float(found[1]) for _, line in self._lines if (found := re.search(pattern, line)))


def _clone(folder: Path) -> Path:
    subprocess.run(["git", "clone", "-q", str(ROOT), str(folder)], check=True)
    return folder


def write(root: Path) -> None:
    """Write the table from the document."""
    made = json.loads((root / DOCUMENT.relative_to(ROOT)).read_text(encoding="utf-8"))
    about = f"`{made['command']}`, {made['date']}, {made['processor']}, {made['cores']} cores:\n\n"
    rows = [[words, *(f"{run[name]:g}" for run in made["runs"])] for name, words in FIGURES.items()]
    head = ["", *(f"run {number + 1}" for number in range(len(made["runs"])))]
    put_between(root / PAGE.relative_to(ROOT), "first hour", about + table(head, rows))
    hour = made["hour"]
    lines = [re.sub(r"--game-type \S+", "$GAME", step["command"]) for step in hour["steps"]]
    steps = [[f"`{line}`", f"{step['seconds']:.0f}"] for line, step in zip(lines, hour["steps"], strict=True)]
    total = sum(step["seconds"] for step in hour["steps"]) / 60
    machine = f"{hour['processor']}, {hour['cores']} cores, load {hour['load']}"
    about = f"{hour['date']}, {machine}; {total:.0f} minutes in all:\n\n"
    put_between(root / QUICKSTART.relative_to(ROOT), "hour", about + table(["command", "s"], steps))


def _run(options: argparse.Namespace) -> None:
    made: dict[str, Any] = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    if options.page:
        with tempfile.TemporaryDirectory() as folder:
            here = Path(folder) / "hour"
            here.mkdir()
            steps = measure_page(here)
            made["hour"] = {**machine_here(), "load": round(os.getloadavg()[2]), "steps": steps}
        notify(str(made["hour"]))
    else:
        runs: list[dict[str, float]] = []
        for _ in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                runs.append(measure(Path(folder)))
            notify(str(runs[-1]))
        made |= {"command": this_command("first_hour", ["--write"]), **machine_here(), "runs": runs}
    if options.write:
        write_json(DOCUMENT, made)
        write(ROOT)


def main() -> int:
    command = Command("first_hour", __doc__)
    command.add_argument("--runs", type=int, default=3, metavar="N", help="each in new clones (%(default)s)")
    command.add_argument("--page", action="store_true", help="time the commands of the quickstart")
    command.add_argument("--write", action="store_true", help="write docs/data/first_hour.json and the tables of pages")
    return command.execute(_run)


if __name__ == "__main__":
    sys.exit(main())
