"""Soak test with fault injection on the fake Dolphin: faults at random times must be detected and recovered from.

The fake Dolphin writes a journal of its faults. Each fault must be in the log of the trainer with its cause, and its
slot must play again in time.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from scripts.studies import ROOT, TRAINER
from scripts.studies.command_line import Command, exit_on_signals, tell_error
from scripts.studies.pages import measured_here, put_between, write_json
from scripts.studies.pages import table as markdown
from scripts.studies.soak.run import Points, run_and_sample
from selfplay.errors import ConfigError
from selfplay_melee.dolphin.install import is_free
from tests.support.fake_dolphin.disc import Disc, Fault
from tests.support.fake_dolphin.write import write_stand_in

if TYPE_CHECKING:
    import argparse

GAMES: Final = 4  # fake Dolphins
BASE_PORT: Final = 52_000
PACE: Final = 60.0
START_TIMEOUT_S: Final = 20.0
FRAME_TIMEOUT_S: Final = 5.0  # well below ``RECOVERY_S``, so that a hang is detected in time
RECOVERY_S: Final = 20.0  # within which a slot plays again
WARM_UP_S: Final = 120.0  # after which the trainer's memory should not grow
MEMORY_MB: Final = 20.0  # growth that is allowed
SLOW: Final = ("dead_port", "slow_boot")  # faults that are only detected at the start deadline

# Messages of the faults in the trainer's log.
MESSAGES: Final = {
    "crash": r"ended with exit code 139 after frame",
    "hang": r"no frame from Dolphin for",
    "disconnect": r"closed the connection",
    "garbage": r"no events of a game",
    "truncated": r"a part of an event",
    "bad_json": r"is no message",
    "no_start": r"ended with exit code 1 ",
    "dead_port": r"opened no spectator port within",
    "menu_crash": r"ended with exit code 139 in the menus",
    "old_version": r"is too old",
    "wrong_character": r"the game began with \w+ on port",
    "wrong_stage": r"the game began on",
}
# Mean number of frames between two faults of a kind, or of starts or games for the faults of those.
EVERY: Final = {
    **dict.fromkeys(("crash", "hang", "disconnect", "garbage", "truncated", "bad_json"), 15_000.0),
    **dict.fromkeys(("no_start", "slow_boot"), 12.0),
    "dead_port": 20.0,
    "menu_crash": 4_000.0,
    **dict.fromkeys(("old_version", "wrong_character", "wrong_stage"), 20.0),
}


@dataclass(frozen=True, slots=True)
class Outage:
    """A slot from its first fault until it plays again."""

    slot: int
    seconds: float
    faults: tuple[str, ...]

    @property
    def allowed_s(self) -> float:
        """Seconds that recovery may take: for each fault, plus the start deadline where that detects it."""
        return sum(RECOVERY_S + (START_TIMEOUT_S if fault in SLOW else 0.0) for fault in self.faults)


def soak(folder: Path, minutes: float, notify: Callable[[str], object]) -> dict[str, Any]:
    """Train for so long; faults injected, detected and recovered, what was left behind, and growth of memory."""
    journal, run = folder / "journal.jsonl", folder / "run"
    folder.mkdir(parents=True)
    faults = tuple(Fault(kind=kind, every=every) for kind, every in EVERY.items())
    dolphin, disc = write_stand_in(folder / "stand_in", Disc(pace=PACE, faults=faults, journal=str(journal)))
    command = [
        *(*TRAINER, "--game-type", "dolphin"),
        *("--dolphin", str(dolphin), "--iso", str(disc), "--num-games", str(GAMES), "--rollout-length", "32"),
        *("--max-episode-frames", "1200", "--timesteps", str(10**9), "--set", f"emulator.slippi_port={BASE_PORT}"),
        *("--set", f"emulator.start_timeout={START_TIMEOUT_S}", "--set", f"emulator.frame_timeout={FRAME_TIMEOUT_S}"),
        *("--checkpoint", str(run)),
    ]
    samples, code, left = run_and_sample(command, folder, minutes * 60.0, notify)
    memory = [(sample.seconds, sample.memory_mb) for sample in samples]
    return {
        "minutes": minutes,
        "games": GAMES,
        "exit_code": code,
        **_fault_figures(journal, run),
        "memory_growth_mb": _growth(memory),
        **left,
        "ports_left": sum(not is_free(port) for port in range(BASE_PORT, BASE_PORT + 8 * GAMES)),
    }


def failures(figures: dict[str, Any]) -> list[str]:
    """Checks that failed, in words."""
    wrong = [
        *(f"{name} is {figures[name]}" for name in ("processes_left", "temporary_files_left", "ports_left")
          if figures[name]),
        *(f"exit code {figures['exit_code']}" for _ in range(figures["exit_code"] != 130)),
        *(f"fault {kind} was told {figures['told'].get(kind, 0)} times, injected {count}"
          for kind, count in figures["injected"].items()
          if kind in MESSAGES and figures["told"].get(kind, 0) < count - figures["unseen"].get(kind, 0)),
        *(f"slot {o['slot']} was out for {o['seconds']:.1f} s after {', '.join(o['faults'])}"
          for o in figures["too_long"]),
    ]  # fmt: skip
    if figures["memory_growth_mb"] >= MEMORY_MB:
        wrong.append(f"the trainer grew by {figures['memory_growth_mb']:.1f} MB")
    return wrong


def table(figures: dict[str, Any]) -> str:
    """Faults and figures, in Markdown."""
    faults = [(f"`{kind}`", n, figures["told"].get(kind, "-")) for kind, n in figures["injected"].items()]
    rows = {
        "minutes, games": f"{figures['minutes']:g}, {figures['games']}",
        "machine": f"{figures['processor']}, {figures['cores']} cores",
        "iterations, median and longest time between two": f"{figures['iterations']}, {figures['median_gap_s']:.1f} s, "
        f"{figures['longest_gap_s']:.1f} s",
        "restarts of runners": figures["restarts"],
        "outages, median and longest": f"{figures['outages']}, {figures['median_outage_s']:.1f} s, "
        f"{figures['longest_outage_s']:.1f} s",
        "longest outage of a fault that is detected at once": f"{figures['longest_single_outage_s']:.1f} s",
        "outages over the limit": len(figures["too_long"]),
        "growth of the trainer after two minutes": f"{figures['memory_growth_mb']:.1f} MB",
        "processes, temporary files, ports left": f"{figures['processes_left']}, {figures['temporary_files_left']}, "
        f"{figures['ports_left']}",
    }
    return f"{markdown(('fault', 'injected', 'reported'), faults)}\n\n{markdown(('figure', 'value'), rows.items())}"


def _growth(samples: Points) -> float:
    """Growth of memory from two minutes (in a short run, from its middle) to the last half minute."""
    settled = min(WARM_UP_S, samples[-1][0] / 2)
    early = [mb for t, mb in samples if settled <= t < settled + 30]
    late = [mb for t, mb in samples if t >= samples[-1][0] - 30]
    return median(late) - median(early)


def _fault_figures(journal: Path, run: Path) -> dict[str, Any]:
    """Faults by kind: injected, detected by the trainer, and how long their slots were out."""
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    log = (run / "log.txt").read_text(encoding="utf-8")
    failed = [line for line in log.splitlines() if re.search(r"runner-\d+ (failed|did not start)", line)]
    told = {kind: sum(bool(re.search(text, line)) for line in failed) for kind, text in MESSAGES.items()}
    outages, open_faults = _outages(lines)
    walls = [row["wall"] for row in rows]
    gaps = [later - earlier for earlier, later in pairwise(walls)]
    return {
        "iterations": len(rows),
        "longest_gap_s": max(gaps, default=0.0),
        "median_gap_s": median(gaps) if gaps else 0.0,
        "restarts": rows[-1]["runners/restarts"],
        "injected": dict(Counter(line["kind"] for line in lines if line["event"] == "fault")),
        "told": told,
        "unseen": dict(Counter(kind for kinds in open_faults for kind in kinds)),  # the run ended first
        "outages": len(outages),
        "median_outage_s": median(o.seconds for o in outages) if outages else 0.0,
        "longest_outage_s": max((o.seconds for o in outages), default=0.0),
        "longest_single_outage_s": max(
            (o.seconds for o in outages if len(o.faults) == 1 and o.faults[0] not in SLOW), default=0.0
        ),
        "too_long": [
            {"slot": o.slot, "seconds": o.seconds, "faults": list(o.faults)} for o in outages if o.seconds > o.allowed_s
        ],
    }


def _outages(lines: Iterable[dict[str, Any]]) -> tuple[list[Outage], list[tuple[str, ...]]]:
    """Times from the first fault of a slot until it plays again, and the faults of slots that did not."""
    began: dict[int, float] = {}
    kinds: dict[int, list[str]] = {}
    outages = []
    for line in sorted(lines, key=lambda line: line["wall"]):
        slot = (line["port"] - BASE_PORT) % GAMES
        if line["event"] == "fault":
            began.setdefault(slot, line["wall"])
            kinds.setdefault(slot, []).append(line["kind"])
        elif line["event"] == "playing" and slot in began:
            outages.append(Outage(slot, line["wall"] - began.pop(slot), tuple(kinds.pop(slot))))
    return outages, [tuple(found) for found in kinds.values()]


def main() -> int:
    command = Command("soak.dolphin", __doc__, epilog="exit code: 1 where a check failed, else 0")
    command.add_argument("--minutes", type=float, default=10.0, metavar="F", help="(default: %(default)s)")
    command.add_argument("--folder", type=Path, metavar="DIR", help="a new folder, in which all files stay")
    command.add_argument("--write", action="store_true", help="put the figures into docs/")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> int:
    if options.minutes <= 0 or (options.folder and options.folder.exists()):
        raise ConfigError("--minutes must be above 0, --folder a new folder")
    exit_on_signals()  # ends the trainer with this process
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary) / "soak").absolute()
        figures = {**measured_here(), **soak(folder, options.minutes, tell_error)}
    wrong = failures(figures)
    document = {**figures, "failures": wrong}
    print(json.dumps(document, indent=1))
    if options.write:
        write_json(ROOT / "docs/data/dolphin_soak.json", document)
        put_between(ROOT / "docs/melee/internals/dolphin_bridge.md", "dolphin soak", table(figures))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
