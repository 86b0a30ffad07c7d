"""A training that is watched from outside while it runs: what it holds must stay the same, and nothing may be left.

The trainer runs as a person would start it. Its memory, file descriptors, threads and processes are read from the
system, the tasks of its event loop from its metrics. Behind a warm-up memory may not slope and counts may not grow.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import combinations, pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

import psutil

from selfplay.errors import SelfPlayError
from selfplay.trainer.machine import processor, usable_cores

ROOT: Final = Path(__file__).resolve().parents[2]
METRICS: Final = "metrics.jsonl"
START_S: Final = 1200.0  # for its first iteration
END_S: Final = 120.0  # for the trainer to end
WARM_UP_S: Final = 300.0  # that is not judged; of a short run its first third
BUCKET_S: Final = 30.0  # whose median is one point of the slope
SLOPE_MB: Final = 1.0  # a minute that memory may grow by
JUDGED_S: Final = 300.0  # behind the warm-up from which a slope means something
COUNTS: Final = ("descriptors", "threads", "processes", "tasks")
MORE: Final = 2  # that a count may have grown by: children come and go
MORE_SOON: Final = 8  # the same in a run too short to tell a leak from them
INTERRUPTED: Final = 130
FOREIGN: Final = "torchinductor"  # torch makes and leaves a folder of this name

Points = list[tuple[float, float]]  # seconds since the first iteration, value


@dataclass(frozen=True, slots=True)
class Sample:
    """What the trainer holds at one moment."""

    seconds: float  # since its first iteration
    memory_mb: float  # resident, of the trainer
    tree_mb: float  # and of everything that it has started
    descriptors: int  # of the trainer
    threads: int  # of the trainer
    processes: int  # that it has started


def watched(
    command: Sequence[str], folder: Path, seconds: float, tell: Callable[[str], object]
) -> tuple[list[Sample], int | None, dict[str, int]]:
    """Run a training in the folder ``run`` of a folder, then interrupt it: samples, its exit code, and what was left.

    It runs for so long from its first iteration on. The exit code is None where it did not end within ``END_S`` and
    was killed.
    """
    temporary = folder / "tmp"
    temporary.mkdir(parents=True)
    before = set(psutil.pids())
    with (folder / "output.txt").open("wb") as output:
        trainer = subprocess.Popen(
            command, cwd=folder, env={**os.environ, "TMPDIR": str(temporary)}, stdout=output, stderr=output
        )
        try:
            _wait_for(folder / "run" / METRICS, trainer)
            samples = _watch(trainer, seconds, tell)
            trainer.send_signal(signal.SIGINT)
            code: int | None = trainer.wait(END_S)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            trainer.kill()
            trainer.wait()
    time.sleep(1.0)
    left = {
        "processes_left": sum(_belongs(pid, folder) for pid in set(psutil.pids()) - before),
        "temporary_files_left": sum(not path.name.startswith(FOREIGN) for path in temporary.iterdir()),
    }
    return samples, code, left


def soak(arguments: Sequence[str], folder: Path, minutes: float, tell: Callable[[str], object]) -> dict[str, Any]:
    """Train with these arguments for so long; what it held, and what was left. Blocks.

    Args:
        arguments: Of ``train_self_play.py``, without the folder of the run and its end.
        folder: For everything; must not exist.
        minutes: From the first iteration to its interruption.
        tell: Is told how it goes.
    """
    run = folder / "run"
    command = [
        *(sys.executable, str(ROOT / "scripts/train_self_play.py"), *arguments),
        *("--max-minutes", str(10 * minutes + 60), "--checkpoint", str(run)),
    ]
    samples, code, left = watched(command, folder, minutes * 60.0, tell)
    if not samples:
        said = (folder / "output.txt").read_text(encoding="utf-8", errors="replace").splitlines()
        raise SelfPlayError(f"the training did not begin: {said[-1] if said else 'it said nothing'}")
    summary = _document(run / "summary.json")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": processor(),
        "cores": usable_cores(),
        "minutes": minutes,
        "exit_code": code,
        **_progress(run),
        "restarts": summary.get("restarts"),
        "abandoned": summary.get("abandoned"),
        "chaos": summary.get("chaos"),
        **judged(samples, _tasks(run, samples)),
        **left,
        "samples": [asdict(sample) for sample in samples[:: max(1, len(samples) // 200)]],
    }


def failures(figures: dict[str, Any]) -> list[str]:
    """What is not as it should be, in words."""
    wrong = [f"{name} is {figures[name]}" for name in ("processes_left", "temporary_files_left") if figures[name]]
    if figures["exit_code"] != INTERRUPTED:
        wrong.append(f"exit code {figures['exit_code']}")
    long = figures["judged_s"] >= JUDGED_S
    if long and figures["memory_mb_a_minute"] >= SLOPE_MB:
        wrong.append(f"the trainer grew by {figures['memory_mb_a_minute']:.2f} MB a minute")
    for name in COUNTS:
        first, last = figures[name]
        if last - first > (MORE if long else MORE_SOON):
            wrong.append(f"{name}: {first:g} at first, {last:g} at the end")
    for kind, told in (figures["chaos"] or {}).items():
        if told["recovered"] < told["injected"] - figures["runners"]:  # those of the last moment may be open
            wrong.append(f"{told['injected']} faults of kind {kind} were injected, {told['recovered']} recovered")
    if not figures["iterations"]:
        wrong.append("no iteration came to its end")
    return wrong


def judged(samples: Sequence[Sample], tasks: Points) -> dict[str, Any]:
    """Behind the warm-up: the slope of memory, and each count in the first and in the last third."""
    end = samples[-1].seconds
    begin = min(WARM_UP_S, end / 3)
    settled = [sample for sample in samples if sample.seconds >= begin]
    points = {
        name: [(sample.seconds, float(getattr(sample, name))) for sample in settled]
        for name in ("memory_mb", "tree_mb", "descriptors", "threads", "processes")
    }
    points["tasks"] = [(t, count) for t, count in tasks if t >= begin]
    return {
        "judged_s": round(end - begin, 1),
        "memory_mb": round(points["memory_mb"][-1][1], 1),
        "memory_mb_a_minute": round(slope(points["memory_mb"]), 3),
        "tree_mb": round(points["tree_mb"][-1][1], 1),
        "tree_mb_a_minute": round(slope(points["tree_mb"]), 3),
        **{name: thirds(points[name]) for name in COUNTS},
    }


def slope(points: Points) -> float:
    """A minute, robust: the median of the slopes between any two medians of ``BUCKET_S`` (Theil, Sen)."""
    start = points[0][0]
    width = min(BUCKET_S, max((points[-1][0] - start) / 4, 1e-9))
    buckets: dict[int, Points] = {}
    for t, value in points:
        buckets.setdefault(int((t - start) / width), []).append((t, value))
    middle = [(median(t for t, _ in part), median(v for _, v in part)) for part in buckets.values()]
    slopes = [(v2 - v1) / (t2 - t1) * 60.0 for (t1, v1), (t2, v2) in combinations(middle, 2) if t2 > t1]
    return median(slopes) if slopes else 0.0


def thirds(points: Points) -> tuple[float, float]:
    """Medians of the first and of the last third."""
    if not points:
        return 0.0, 0.0
    size = -(-len(points) // 3)
    return median(value for _, value in points[:size]), median(value for _, value in points[-size:])


def table(found: Iterable[dict[str, Any]]) -> str:
    """Soaks side by side, for people, in Markdown."""
    soaks = list(found)
    rows: dict[str, Callable[[dict[str, Any]], str]] = {
        "machine": lambda f: f"{f['processor']}, {f['cores']} cores",
        "date": lambda f: f["date"],
        "iterations, median and longest time between two": lambda f: (
            f"{f['iterations']:,}, {f['median_gap_s']:.1f} s, {f['longest_gap_s']:.1f} s"
        ),
        "runners replaced, threads abandoned": lambda f: f"{f['restarts']}, {f['abandoned']}",
        "faults: injected, detected, recovered, segments lost": lambda f: "; ".join(
            f"{kind} {', '.join(map(str, told.values()))}" for kind, told in (f["chaos"] or {}).items()
        ),
        "memory of the trainer at the end, slope": lambda f: (
            f"{f['memory_mb']:.0f} MB, {f['memory_mb_a_minute']:+.2f} MB a minute"
        ),
        "memory with its processes, slope": lambda f: (
            f"{f['tree_mb']:.0f} MB, {f['tree_mb_a_minute']:+.2f} MB a minute"
        ),
        **{
            f"{name}, in the first and the last third": lambda f, name=name: "{:g}, {:g}".format(*f[name])  # type: ignore[misc]
            for name in COUNTS
        },
        "processes, temporary files left": lambda f: f"{f['processes_left']}, {f['temporary_files_left']}",
    }
    lines = ["| | " + " | ".join(f"{f['game']}, {f['minutes']:g} minutes" for f in soaks) + " |"]
    lines.append("|---|" + "---|" * len(soaks))
    lines += [f"| {name} | " + " | ".join(row(f) for f in soaks) + " |" for name, row in rows.items()]
    lines += ["", *(f"- {f['game']}: `{f['command']}`" for f in soaks)]
    return "\n".join(lines)


def _wait_for(file: Path, trainer: subprocess.Popen[bytes]) -> None:
    """Until training has begun: what compiles or is taught before that is no part of a soak."""
    end = time.monotonic() + START_S
    while trainer.poll() is None and time.monotonic() < end and not (file.exists() and file.stat().st_size):
        time.sleep(0.1)


def _watch(trainer: subprocess.Popen[bytes], seconds: float, tell: Callable[[str], object]) -> list[Sample]:
    """What the trainer holds, about once a second, while it runs."""
    started = time.monotonic()
    samples: list[Sample] = []
    told = 0
    if trainer.poll() is not None:
        return []
    process = psutil.Process(trainer.pid)
    while (now := time.monotonic() - started) < seconds and trainer.poll() is None:
        try:
            samples.append(_sample(process, now))
        except psutil.Error:  # it ends
            break
        if now // 60 > told:
            told = int(now // 60)
            tell(f"{told} min, {samples[-1].memory_mb:.0f} MB, {samples[-1].processes} processes")
        time.sleep(min(1.0, seconds / 30))
    return samples


def _sample(process: psutil.Process, now: float) -> Sample:
    own = process.memory_info().rss / (1 << 20)
    children = process.children(recursive=True)
    theirs = 0.0
    for child in children:
        try:
            theirs += child.memory_info().rss / (1 << 20)
        except psutil.Error:  # it has ended meanwhile
            continue
    return Sample(now, own, own + theirs, process.num_fds(), process.num_threads(), len(children))


def _progress(run: Path) -> dict[str, Any]:
    """How training went on."""
    walls = [float(row["wall"]) for row in _rows(run)]
    gaps = [later - earlier for earlier, later in pairwise(walls)]
    blocks = _document(run / "run.json").get("config", {}).get("run", {}).get("runners", 0)
    return {
        "iterations": len(walls),
        "median_gap_s": round(median(gaps), 3) if gaps else 0.0,
        "longest_gap_s": round(max(gaps, default=0.0), 3),
        "runners": blocks or usable_cores(),
    }


def _tasks(run: Path, samples: Sequence[Sample]) -> Points:
    """Tasks of the event loop, by the same seconds as the samples."""
    rows = _rows(run)
    if not rows or not samples:
        return []
    end = float(rows[-1]["wall"])  # the run ends about when the last sample was taken
    last = samples[-1].seconds
    return [(last - (end - float(row["wall"])), float(row["runners/tasks"])) for row in rows]


def _rows(run: Path) -> list[dict[str, Any]]:
    path = run / METRICS
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _belongs(pid: int, folder: Path) -> bool:
    """Whether a process came from this soak."""
    try:
        process = psutil.Process(pid)
        return str(folder) in " ".join((*process.cmdline(), process.environ().get("TMPDIR", "")))
    except psutil.Error:
        return False
