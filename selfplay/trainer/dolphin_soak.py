"""Training on stand-ins in which everything goes wrong at random times, and whether that was noticed and mended.

The trainer runs as a person would start it. The stand-ins keep a journal of what they do wrong, so that each fault can
be looked for in the trainer's log, and the time until the same slot plays again can be told.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

from envs.melee.dolphin.install import is_free
from envs.melee.dolphin.stand_in.disc import Disc, Fault
from envs.melee.dolphin.stand_in.write import write_stand_in
from selfplay.trainer.soak import Points, watched

ROOT: Final = Path(__file__).resolve().parents[2]
BASE_PORT: Final = 52_000
PACE: Final = 60.0
START_TIMEOUT_S: Final = 20.0
MEND_S: Final = 20.0  # within which a slot plays again
SETTLED_S: Final = 120.0  # after which the trainer's memory should not grow
MEMORY_MB: Final = 20.0  # by which it may
SLOW: Final = ("dead_port", "slow_boot")  # faults that take the whole start deadline to be seen

# What the trainer says of a fault; a runner's line in its log holds one of these.
SAID: Final = {
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
# How often: faults of frames one in so many frames, those of starts and games one in so many of these.
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
        """Seconds that this may take: for each fault, and where it takes the start deadline to see it that too."""
        return sum(MEND_S + (START_TIMEOUT_S if fault in SLOW else 0.0) for fault in self.faults)


def soak(folder: Path, minutes: float, games: int, tell: Callable[[str], object]) -> dict[str, Any]:
    """Train for so long; what was injected, noticed and mended, what was left, and how the trainer's memory grew."""
    journal, run = folder / "journal.jsonl", folder / "run"
    folder.mkdir(parents=True)
    faults = tuple(Fault(kind=kind, every=every) for kind, every in EVERY.items())
    dolphin, disc = write_stand_in(folder / "stand_in", Disc(pace=PACE, faults=faults, journal=str(journal)))
    command = [
        *(sys.executable, str(ROOT / "scripts/train_self_play.py"), "--game-type", "dolphin"),
        *("--dolphin", str(dolphin), "--iso", str(disc), "--num-games", str(games), "--rollout-length", "32"),
        *("--max-episode-frames", "1200", "--timesteps", str(10**9), "--slippi-port", str(BASE_PORT)),
        *("--set", f"emulator.start_timeout={START_TIMEOUT_S}", "--checkpoint", str(run)),
    ]
    samples, code, left = watched(command, folder, minutes * 60.0, tell)
    memory = [(sample.seconds, sample.memory_mb) for sample in samples]
    return {
        "minutes": minutes,
        "games": games,
        "exit_code": code,
        **_story(journal, run, games),
        **_growth(memory),
        **left,
        "ports_left": sum(not is_free(port) for port in range(BASE_PORT, BASE_PORT + 8 * games)),
    }


def failures(figures: dict[str, Any]) -> list[str]:
    """What is not as it should be, in words."""
    wrong = [
        *(f"{name} is {figures[name]}" for name in ("processes_left", "temporary_files_left", "ports_left")
          if figures[name]),
        *(f"exit code {figures['exit_code']}" for _ in range(figures["exit_code"] != 130)),
        *(f"fault {kind} was told {figures['told'].get(kind, 0)} times, injected {count}"
          for kind, count in figures["injected"].items()
          if kind in SAID and figures["told"].get(kind, 0) < count - figures["unseen"].get(kind, 0)),
        *(f"slot {o['slot']} was out for {o['seconds']:.1f} s after {', '.join(o['faults'])}"
          for o in figures["too_long"]),
    ]  # fmt: skip
    if figures["memory_growth_mb"] >= MEMORY_MB:
        wrong.append(f"the trainer grew by {figures['memory_growth_mb']:.1f} MB")
    return wrong


def table(figures: dict[str, Any]) -> str:
    """The figures for people, as a table."""
    faults = "".join(
        f"| `{kind}` | {count} | {figures['told'].get(kind, '-')} |\n" for kind, count in figures["injected"].items()
    )
    rows = {
        "minutes, games": f"{figures['minutes']:g}, {figures['games']}",
        "machine": f"{figures['processor']}, {figures['cores']} cores",
        "iterations, median and longest time between two": f"{figures['iterations']}, {figures['median_gap_s']:.1f} s, "
        f"{figures['longest_gap_s']:.1f} s",
        "restarts of runners": figures["restarts"],
        "outages, median and longest": f"{figures['outages']}, {figures['median_outage_s']:.1f} s, "
        f"{figures['longest_outage_s']:.1f} s",
        "longest outage of one fault that is seen at once": f"{figures['longest_single_outage_s']:.1f} s",
        "outages that took too long": len(figures["too_long"]),
        "growth of the trainer after two minutes": f"{figures['memory_growth_mb']:.1f} MB",
        "processes, temporary files, ports left": f"{figures['processes_left']}, {figures['temporary_files_left']}, "
        f"{figures['ports_left']}",
    }
    shown = "".join(f"| {name} | {value} |\n" for name, value in rows.items())
    return f"| fault | injected | told |\n|---|---|---|\n{faults}\n| figure | value |\n|---|---|\n{shown}".rstrip()


def _growth(samples: Points) -> dict[str, float]:
    """Memory behind the first two minutes (in a short run, behind its first half), and in the last half minute."""
    settled = min(SETTLED_S, samples[-1][0] / 2)
    early = [mb for t, mb in samples if settled <= t < settled + 30]
    late = [mb for t, mb in samples if t >= samples[-1][0] - 30]
    return {"memory_mb": median(late), "memory_growth_mb": median(late) - median(early)}


def _story(journal: Path, run: Path, games: int) -> dict[str, Any]:
    """Faults by kind: injected, told by the trainer, and how long their slots were out."""
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    log = (run / "log.txt").read_text(encoding="utf-8")
    failed = [line for line in log.splitlines() if re.search(r"runner-\d+ (failed|did not start)", line)]
    told = {kind: sum(bool(re.search(said, line)) for line in failed) for kind, said in SAID.items()}
    outages, open_faults = _outages(lines, games)
    walls = [row["wall"] for row in rows]
    gaps = [later - earlier for earlier, later in pairwise(walls)]
    return {
        "iterations": len(rows),
        "longest_gap_s": max(gaps, default=0.0),
        "median_gap_s": median(gaps) if gaps else 0.0,
        "late_segments": rows[-1]["runners/late"],
        "dropped_segments": rows[-1]["runners/dropped"],
        "restarts": rows[-1]["runners/restarts"],
        "parked": log.count("is parked"),
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


def _outages(lines: Iterable[dict[str, Any]], games: int) -> tuple[list[Outage], list[tuple[str, ...]]]:
    """Times from the first fault of a slot until it plays again; and the faults of slots that did not any more."""
    began: dict[int, float] = {}
    kinds: dict[int, list[str]] = {}
    outages = []
    for line in sorted(lines, key=lambda line: line["wall"]):
        slot = (line["port"] - BASE_PORT) % games
        if line["event"] == "fault":
            began.setdefault(slot, line["wall"])
            kinds.setdefault(slot, []).append(line["kind"])
        elif line["event"] == "playing" and slot in began:
            outages.append(Outage(slot, line["wall"] - began.pop(slot), tuple(kinds.pop(slot))))
    return outages, [tuple(found) for found in kinds.values()]
