"""Soak test: resources of a training must not grow while it runs, and it must leave nothing behind.

Memory, file descriptors, threads and processes of the trainer are read from the system, the tasks of its event loop
from its metrics. They are judged after a warm-up.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

import psutil

from scripts.studies import TRAINER
from scripts.studies.pages import measured_here
from scripts.studies.pages import table as markdown
from selfplay.errors import SelfPlayError
from selfplay.machine import usable_cores

METRICS: Final = "metrics.jsonl"
START_S: Final = 1200.0  # deadline for the first iteration
END_S: Final = 120.0  # deadline for the trainer to end
WARM_UP_S: Final = 300.0  # not judged; of a short run its first third
BUCKET_S: Final = 30.0  # whose median is one point of the slope
SLOPE_MB: Final = 1.0  # allowed growth of memory, a minute
JUDGED_S: Final = 300.0  # least time after the warm-up in which a slope can be judged
COUNTS: Final = ("descriptors", "threads", "processes", "tasks")
MORE: Final = 2  # allowed growth of a count, since child processes come and go
MORE_SHORT: Final = 8  # the same in a run too short to detect a leak
INTERRUPTED: Final = 130
TORCH_FOLDER: Final = "torchinductor"  # torch leaves a temporary folder of this name

Points = list[tuple[float, float]]  # seconds since the first iteration, value


@dataclass(frozen=True, slots=True)
class Sample:
    """Resources of the trainer at one moment."""

    seconds: float  # since its first iteration
    memory_mb: float  # resident, of the trainer
    tree_mb: float  # and of all its child processes
    descriptors: int  # of the trainer
    threads: int  # of the trainer
    processes: int  # child processes


def run_and_sample(
    command: Sequence[str], folder: Path, seconds: float, notify: Callable[[str], object]
) -> tuple[list[Sample], int | None, dict[str, int]]:
    """Run a training for so long after its first iteration, then interrupt it: samples, exit code, what was left.

    The run is in ``folder/run``. The exit code is None if it did not end within ``END_S`` and was killed.
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
            samples = _watch(trainer, seconds, notify)
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
        "temporary_files_left": sum(not path.name.startswith(TORCH_FOLDER) for path in temporary.iterdir()),
    }
    return samples, code, left


def soak(arguments: Sequence[str], folder: Path, minutes: float, notify: Callable[[str], object]) -> dict[str, Any]:
    """Train with these arguments for so long; the figures. Blocks.

    Args:
        arguments: Of ``selfplay train``, without ``--checkpoint`` and its length.
        folder: For all files; must not exist.
        minutes: From the first iteration to the interruption.
        notify: Prints progress.
    """
    run = folder / "run"
    command = [
        *TRAINER,
        *arguments,
        *("--max-minutes", str(10 * minutes + 60), "--checkpoint", str(run)),
    ]
    samples, code, left = run_and_sample(command, folder, minutes * 60.0, notify)
    if not samples:
        said = (folder / "output.txt").read_text(encoding="utf-8", errors="replace").splitlines()
        raise SelfPlayError(f"the training did not begin: {said[-1] if said else 'no output'}")
    summary = _document(run / "summary.json")
    return {
        **measured_here(),
        "minutes": minutes,
        "exit_code": code,
        **_progress(run),
        **{name: summary.get(name) for name in ("restarts", "abandoned", "chaos")},
        **judged(samples, _tasks(run, samples)),
        **left,
    }


def failures(figures: dict[str, Any]) -> list[str]:
    """Checks that failed, in words."""
    wrong = [f"{name} is {figures[name]}" for name in ("processes_left", "temporary_files_left") if figures[name]]
    if figures["exit_code"] != INTERRUPTED:
        wrong.append(f"exit code {figures['exit_code']}")
    long = figures["judged_s"] >= JUDGED_S
    if long and figures["memory_mb_a_minute"] >= SLOPE_MB:
        wrong.append(f"the trainer grew by {figures['memory_mb_a_minute']:.2f} MB a minute")
    for name in COUNTS:
        first, last = figures[name]
        if last - first > (MORE if long else MORE_SHORT):
            wrong.append(f"{name}: {first:g} at first, {last:g} at the end")
    for kind, told in (figures["chaos"] or {}).items():
        if told["recovered"] < told["injected"] - figures["runners"]:  # the last faults may not be recovered yet
            wrong.append(f"{told['injected']} faults of kind {kind} were injected, {told['recovered']} recovered")
    if not figures["iterations"]:
        wrong.append("no iteration was finished")
    return wrong


def judged(samples: Sequence[Sample], tasks: Points) -> dict[str, Any]:
    """After the warm-up: the slope of memory, and each count in the first and the last third."""
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
    """Theil-Sen slope a minute: the median of the slopes between any two medians of ``BUCKET_S``."""
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


def table(soaks: Sequence[dict[str, Any]]) -> str:
    """Soak tests side by side, in Markdown."""
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
    head = ("", *(f"{f['game']}, {f['minutes']:g} minutes" for f in soaks))
    text = markdown(head, ((name, *map(row, soaks)) for name, row in rows.items()))
    return "\n".join((text, "", *(f"- {f['game']}: `{f['command']}`" for f in soaks)))


def _wait_for(file: Path, trainer: subprocess.Popen[bytes]) -> None:
    """Wait for the first iteration; compilation and supervised starts before it are not part of the test."""
    end = time.monotonic() + START_S
    while trainer.poll() is None and time.monotonic() < end and not (file.exists() and file.stat().st_size):
        time.sleep(0.1)


def _watch(trainer: subprocess.Popen[bytes], seconds: float, notify: Callable[[str], object]) -> list[Sample]:
    """Samples about once a second while the trainer runs."""
    started = time.monotonic()
    samples: list[Sample] = []
    told = 0
    if trainer.poll() is not None:
        return []
    process = psutil.Process(trainer.pid)
    while (now := time.monotonic() - started) < seconds and trainer.poll() is None:
        try:
            samples.append(_sample(process, now))
        except psutil.Error:  # the trainer has ended
            break
        if now // 60 > told:
            told = int(now // 60)
            notify(f"{told} min, {samples[-1].memory_mb:.0f} MB, {samples[-1].processes} processes")
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
    """Iterations and the time between them."""
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
    """Tasks of the event loop, over the seconds of the samples."""
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
    """Whether a process belongs to this soak test."""
    try:
        process = psutil.Process(pid)
        return str(folder) in " ".join((*process.cmdline(), process.environ().get("TMPDIR", "")))
    except psutil.Error:
        return False
